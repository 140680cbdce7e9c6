import { FlushedLog } from '#kernel/durable-files/flushed-log.ts';
import type { LogEntry } from '#kernel/durable-files/write-ahead-log.ts';
import { overloaded } from '#kernel/errors/catalogue.ts';
import { untilAborted } from '#kernel/limits/deadline.ts';

/** The writes of one request: one line of the log, written completely or not at all. */
export interface BoundedEntry extends LogEntry {
  /** Empty as soon as the log has it. */
  line: Uint8Array;
  /** Bytes that it counts. */
  readonly size: number;
  /** Its position among all entries of the log; 0: not applied yet. */
  number: number;
  readonly account: string;
}

/** Bytes: the most that wait for the table, in total and for one account, and the most of one flush. */
export interface LogLimits {
  readonly pending: number;
  readonly account: number;
  readonly flush: number;
}

type Opened<Entry extends LogEntry> = Parameters<typeof FlushedLog.open<Entry>>[0];

const noBytes = new Uint8Array(0);

/** A write-ahead log in front of a table, in which only so many bytes wait for it. */
export class BoundedLog<Entry extends BoundedEntry> {
  readonly #log: FlushedLog<Entry>;
  readonly #limits: LogLimits;
  readonly #bytesOf = new Map<string, number>();
  #bytes = 0;

  private constructor(log: FlushedLog<Entry>, limits: LogLimits) {
    this.#log = log;
    this.#limits = limits;
  }

  /** First flushes the entries of an earlier process. @param args.stored called when the table has these entries */
  static async open<Entry extends BoundedEntry>({
    limits,
    stored,
    ...args
  }: Opened<Entry> & { readonly limits: LogLimits }): Promise<BoundedLog<Entry>> {
    const log = await FlushedLog.open<Entry>({
      ...args,
      // nothing is written before it is open
      stored(entries) {
        stored(entries);
        for (const { account, size } of entries) opened.#count(account, -size);
      },
    });
    const opened = new BoundedLog(log, limits);
    return opened;
  }

  /** The number of the last visible entry. */
  get last(): number {
    return this.#log.last;
  }

  /** Takes the next number, for a write that another log has. */
  number(): number {
    return this.#log.number();
  }

  /**
   * Resolves when the entry is durable and can be seen. Waits while too much waits for the table.
   * @param apply shows it, in one step: nobody sees a part of it, or an outdated cached result
   */
  async append(entry: Entry, signal: AbortSignal, apply: () => void): Promise<void> {
    const { account, size } = entry;
    while (!this.#fits(account, size)) await this.#makeRoom(signal);
    this.#count(account, size);
    try {
      await this.#log.append(entry);
    } catch (error) {
      this.#count(account, -size);
      throw error;
    }
    entry.line = noBytes;
    entry.number = this.#log.number();
    apply();
    this.#log.schedule(this.#bytes >= this.#limits.flush);
  }

  /** Resolves when the table has all entries up to a number; null: it has them. */
  settled(upTo: number | undefined): Promise<void> | null {
    return upTo === undefined || this.#log.has(upTo) ? null : this.#log.flush(upTo);
  }

  /** Flushes all entries into the table. The log keeps what fails for the next start. */
  close(): Promise<void> {
    return this.#log.close();
  }

  #fits(account: string, size: number): boolean {
    const own = this.#bytesOf.get(account) ?? 0;
    // a write larger than a share is admitted when nothing else waits
    const fitsOwn = own === 0 || own + size <= this.#limits.account;
    return fitsOwn && (this.#bytes === 0 || this.#bytes + size <= this.#limits.pending);
  }

  async #makeRoom(signal: AbortSignal): Promise<void> {
    try {
      await untilAborted(this.#log.flush(this.#log.last), signal);
    } catch (cause) {
      signal.throwIfAborted();
      throw overloaded('the table does not take records', cause);
    }
    // writes that are not in the log yet can't be flushed: they reach it meanwhile
    await new Promise<void>((resolve) => setImmediate(resolve));
  }

  #count(account: string, size: number): void {
    this.#bytes += size;
    const own = (this.#bytesOf.get(account) ?? 0) + size;
    if (own > 0) this.#bytesOf.set(account, own);
    else this.#bytesOf.delete(account);
  }
}
