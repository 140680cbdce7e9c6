import type { Log } from '../log/log.ts';
import { type LogEntry, type LogSegment, WriteAheadLog } from './write-ahead-log.ts';

export interface FlushTimes {
  /** How long an entry waits for others, so that they are flushed together. Milliseconds. */
  readonly flushAfter: number;
  /** Pause before a failed flush is retried. Milliseconds. */
  readonly retryAfter: number;
}

interface FlushedLogParts<Entry> {
  /** What log lines call the entries, such as `records`. */
  readonly what: string;
  /** Writes entries to the table. @param again some of them may be there already */
  readonly store: (entries: readonly Entry[], again: boolean) => Promise<void>;
  /** Called when the table has these entries. */
  readonly stored: (entries: readonly Entry[]) => void;
  readonly log: Pick<Log, 'error'>;
}

interface Flush {
  /** Number of the last entry in this flush. */
  readonly upTo: number;
  readonly done: Promise<void>;
}

const usualTimes: FlushTimes = { flushAfter: 1000, retryAfter: 1000 };

/**
 * A write-ahead log in front of a table: an entry is durable after one small write to a file, and reaches the table a
 * little later, many entries in one statement. A failed flush is retried until it succeeds. Entries that are left when
 * the process ends are flushed by the next process before anything else.
 */
export class FlushedLog<Entry extends LogEntry> {
  readonly #deps: FlushedLogParts<Entry>;
  readonly #times: FlushTimes;
  readonly #wal: WriteAheadLog<Entry>;
  /** Closed segments that the table does not have yet, the oldest first. */
  readonly #sealed: { readonly segment: LogSegment<Entry>; tried: boolean }[] = [];
  /** Number of the last visible entry, and of the last one in the table. */
  #last = 0;
  #stored = 0;
  #current: Flush | null = null;
  #next: Promise<void> | null = null;
  #timer: NodeJS.Timeout | null = null;

  private constructor(deps: FlushedLogParts<Entry>, wal: WriteAheadLog<Entry>, times: FlushTimes) {
    this.#deps = deps;
    this.#wal = wal;
    this.#times = times;
  }

  /** Flushes the entries of an earlier process first. @param args.entryOf parses an entry from a line */
  static async open<Entry extends LogEntry>(
    args: Omit<FlushedLogParts<Entry>, 'log'> & {
      readonly directory: string;
      readonly entryOf: (line: Uint8Array) => Entry;
      readonly log: Pick<Log, 'error' | 'warn' | 'info'>;
      readonly times?: Partial<FlushTimes> | undefined;
    },
  ): Promise<FlushedLog<Entry>> {
    const { what, log, directory, entryOf, times } = args;
    const { wal, left } = await WriteAheadLog.open(directory, entryOf);
    for (const { entries, damage, drop } of left) {
      // a process that was killed before its first write leaves an empty segment
      if (entries.length > 0) await args.store(entries, true);
      await drop();
      log.info({ entries: entries.length }, `the write-ahead log of ${what} was flushed to the table`);
      if (damage === null) continue;
      if (damage.lines > 0)
        log.error({ damage }, `rows in the write-ahead log of ${what} are damaged: it is kept aside`);
      else
        log.warn({ damage }, `the write-ahead log of ${what} ends in the middle of a row: it is kept aside`);
    }
    return new FlushedLog(args, wal, { ...usualTimes, ...times });
  }

  /** The number of the last visible entry. */
  get last(): number {
    return this.#last;
  }

  /** Resolves when the entry is on the disk. A rejected entry may still be there. */
  append(entry: Entry): Promise<void> {
    return this.#wal.append(entry);
  }

  /** Takes the next number, for an entry that becomes visible or for a change that was made elsewhere. */
  number(): number {
    return ++this.#last;
  }

  /** Schedules a flush of the new entries, soon or at once. Call it after each entry. */
  schedule(now = false): void {
    if (now) this.#flushIn(0);
    else if (this.#timer === null && this.#next === null) this.#flushIn(this.#times.flushAfter);
  }

  /** Whether the table has all entries up to this number. */
  has(upTo: number): boolean {
    return upTo <= this.#stored;
  }

  /** Resolves when the table has the visible entries up to this number. Infinity: all appended entries. */
  flush(upTo: number): Promise<void> {
    if (this.#current !== null && upTo <= this.#current.upTo) return this.#current.done;
    this.#next ??= (this.#current?.done ?? Promise.resolve())
      .catch(() => {})
      .then(() => {
        this.#next = null;
        return this.#begin();
      });
    return this.#next;
  }

  /** Flushes all entries. If that fails, they stay in the log for the next start. */
  async close(): Promise<void> {
    this.#stop();
    await this.flush(Number.POSITIVE_INFINITY).catch((err: unknown) => {
      const { log, what } = this.#deps;
      log.error({ err }, `${what} stay in their write-ahead log until the next start`);
    });
    // a failed flush requests another one
    this.#stop();
  }

  #stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  /** Rejects the waiting callers on a failure, and retries the flush. */
  #flushIn(delay: number): void {
    if (this.#timer !== null && delay > 0) return;
    this.#stop();
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.flush(this.#last).catch(() => {});
    }, delay);
    this.#timer.unref();
  }

  #begin(): Promise<void> {
    const flush = { upTo: this.#last, done: this.#flushSealed() };
    this.#current = flush;
    flush.done.then(
      () => {
        this.#stored = Math.max(this.#stored, flush.upTo);
        if (this.#current === flush) this.#current = null;
      },
      (err: unknown) => {
        if (this.#current === flush) this.#current = null;
        const { log, what } = this.#deps;
        log.error({ err }, `${what} wait in their write-ahead log: the table does not take them`);
        this.#flushIn(this.#times.retryAfter);
      },
    );
    return flush.done;
  }

  async #flushSealed(): Promise<void> {
    const segment = await this.#wal.seal();
    if (segment !== null) this.#sealed.push({ segment, tried: false });
    for (let next = this.#sealed[0]; next !== undefined; next = this.#sealed[0]) {
      const { entries, drop } = next.segment;
      const again = next.tried;
      next.tried = true;
      if (entries.length > 0) await this.#deps.store(entries, again);
      // before the segment is dropped: the table has its entries, whatever happens to the file
      const found = await drop();
      this.#sealed.shift();
      this.#deps.stored(entries);
      if (found) continue;
      const { log, what } = this.#deps;
      const text = `a file of the write-ahead log of ${what} was removed while it was in use: the table has its rows`;
      log.error({ entries: entries.length }, text);
    }
  }
}
