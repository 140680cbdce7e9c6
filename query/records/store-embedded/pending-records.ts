import type { Database, ReadStatement } from '#engine/database.ts';
import { FlushedLog, type FlushTimes } from '#kernel/durable-files/flushed-log.ts';
import type { LogEntry } from '#kernel/durable-files/write-ahead-log.ts';
import { overloaded } from '#kernel/errors/catalogue.ts';
import { untilAborted } from '#kernel/limits/deadline.ts';
import type { Log } from '#kernel/log/log.ts';
import { joinedText } from '../sql/joined-text.ts';
import { allSpaces } from '../sql/records-table.ts';
import type { StoredRow } from '../sql/stored-row.ts';
import type { Engine } from '../store/record-store.ts';
import { statementRecords } from '../store/statement-writes.ts';
import { UpdateValues } from '../store/update-values.ts';
import type { KnownRecords, RecordWrite } from './known-records.ts';
import { blockLine, blockOf, type PendingBlock } from './pending-block.ts';
import { type StoredEntry, storeEntries } from './store-entries.ts';

/** The writes of one request: one line of the log, written completely or not at all. */
interface PendingEntry extends LogEntry, StoredEntry {
  /** Empty as soon as the log has it. */
  line: Uint8Array;
  readonly size: number;
  /** Its position among all writes; 0: not applied yet. */
  number: number;
  readonly account: string;
}

export interface PendingWrite {
  readonly write: RecordWrite;
  /** The record before the write; null: there was none. */
  readonly before: StoredRow | null;
}

interface WrittenBy {
  readonly account: string;
  readonly signal: AbortSignal;
  /** Called at the moment when the writes can be seen. */
  readonly seen: () => void;
}

/** Bytes of lines: the most that wait for the table, in total and for one account, and the most of one flush. */
const usualLimits = { pending: 32 * 1024 * 1024, account: 16 * 1024 * 1024, flush: 8 * 1024 * 1024 };
/** Of the bytes of a block: other writes are objects, too, until they are stored, and take more. */
const blockShare = 0.5;
const { signal: never } = new AbortController();
const noBytes = new Uint8Array(0);

/**
 * Writes that are durable in a write-ahead log before they reach the table, for a process with an exclusive store
 * (docs/decisions/023-write-ahead-log-of-records.md). A write is acknowledged after one small write to a file,
 * which all waiting writes share; the table gets them in a few large statements. Until then `KnownRecords` has
 * the newest state of a record.
 */
export class PendingRecords {
  readonly #log: FlushedLog<PendingEntry>;
  readonly #known: KnownRecords;
  readonly #limits: typeof usualLimits;
  readonly #bytesOf = new Map<string, number>();
  #bytes = 0;

  private constructor(args: {
    readonly log: FlushedLog<PendingEntry>;
    readonly known: KnownRecords;
    readonly limits: typeof usualLimits;
  }) {
    this.#log = args.log;
    this.#known = args.known;
    this.#limits = args.limits;
  }

  /** First flushes the log of an earlier process into the table. @param args.directory of the log */
  static async open(
    args: Engine & {
      readonly directory: string;
      readonly log: Pick<Log, 'error' | 'warn' | 'info'>;
      readonly known: KnownRecords;
      readonly limits?: Partial<typeof usualLimits>;
      readonly times?: Partial<FlushTimes>;
    },
  ): Promise<PendingRecords> {
    const { directory, log, times, known } = args;
    const values = new UpdateValues(args);
    const flushed = await FlushedLog.open<PendingEntry>({
      what: 'records',
      directory,
      entryOf,
      log,
      times,
      store(entries, again) {
        return storeEntries({ ...args, values }, entries, again);
      },
      // nothing is written before it is open
      stored: (entries) => pending.#settle(entries),
    });
    const limits = { ...usualLimits, ...args.limits };
    const pending = new PendingRecords({ log: flushed, known, limits });
    return pending;
  }

  /** Makes the writes of one request, all or none. Resolves when they are durable and can be seen. */
  async write(writes: readonly PendingWrite[], by: WrittenBy): Promise<void> {
    const records = writes.map(({ write }) => write);
    const line =
      records.length <= statementRecords
        ? Buffer.from(`${JSON.stringify(records)}\n`)
        : await longLine(records);
    const entry = { ...entryFor(by, records, null), line, size: line.byteLength };
    await this.#append(entry, by, () => {
      for (const { write, before } of writes) this.#known.apply(write, before, entry.number);
    });
  }

  /** The same with a block. Its records can only be found by statements, behind a flush. */
  async writeBlock(block: PendingBlock, by: WrittenBy): Promise<void> {
    const { receipt } = block;
    const entry = {
      ...entryFor(by, [], block),
      ...(await blockLine(block)),
      size: block.rows.byteLength * blockShare,
    };
    await this.#append(entry, by, () => {
      this.#known.applyBlock(block.spaceId, entry.number);
      if (receipt !== null) this.#known.apply(receipt, null, entry.number);
    });
  }

  /** @param apply shows the writes in memory */
  async #append(entry: PendingEntry, { signal, seen }: WrittenBy, apply: () => void): Promise<void> {
    const { account, size } = entry;
    while (!this.#fits(account, size)) await this.#makeRoom(signal);
    this.#count(account, size);
    try {
      await this.#log.append(entry);
    } catch (error) {
      this.#count(account, -size);
      throw error;
    }
    // one step from here on: nobody sees some of the writes without the others, or an outdated cached result
    entry.line = noBytes;
    entry.number = this.#log.number();
    apply();
    seen();
    this.#log.schedule(this.#bytes >= this.#limits.flush);
  }

  /** The same as `settled` if the space has blocks that the table lacks, whose records are not in memory; null: it has none. */
  settledBlocks(spaceId: string, signal: AbortSignal): Promise<void> | null {
    return this.#known.hasBlocks(spaceId) ? this.settled(spaceId, signal) : null;
  }

  /** Resolves when the table has all records of the space; null: it has them already. */
  settled(spaceId: string, signal?: AbortSignal): Promise<void> | null {
    const last = spaceId === allSpaces ? this.#log.last : this.#known.lastPending(spaceId);
    if (last === undefined || this.#log.has(last)) return null;
    const flushed = this.#log.flush(last);
    return signal === undefined ? flushed : untilAborted(flushed, signal);
  }

  /** Flushes all pending writes into the table. The log keeps what fails for the next start. */
  async close(): Promise<void> {
    await this.#log.close();
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

  #settle(entries: readonly PendingEntry[]): void {
    for (const { writes, block, size, number, account } of entries) {
      for (const { spaceId, id } of writes) this.#known.settle(spaceId, id, number);
      if (block !== null) {
        const { spaceId, receipt } = block;
        this.#known.settleBlock(spaceId);
        if (receipt !== null) this.#known.settle(receipt.spaceId, receipt.id, number);
      }
      this.#count(account, -size);
    }
  }
}

async function longLine(writes: readonly RecordWrite[]): Promise<Uint8Array> {
  const textOf = (write: RecordWrite, index: number): string =>
    `${index > 0 ? ',' : ''}${JSON.stringify(write)}`;
  return Buffer.concat([Buffer.from('['), await joinedText(writes, textOf, never), Buffer.from(']\n')]);
}

/** @param line a list of writes, or an object: a block */
function entryOf(line: Uint8Array): PendingEntry {
  const parsed = JSON.parse(Buffer.from(line).toString('utf8')) as readonly RecordWrite[] | object;
  const nobody = { account: '' };
  const entry = Array.isArray(parsed)
    ? entryFor(nobody, parsed as readonly RecordWrite[], null)
    : entryFor(nobody, [], blockOf(parsed));
  return { ...entry, line, size: line.byteLength };
}

function entryFor(
  { account }: Pick<WrittenBy, 'account'>,
  writes: readonly RecordWrite[],
  block: PendingBlock | null,
): PendingEntry {
  return { line: noBytes, size: 0, writes, block, number: 0, account };
}

/** The same database, but statements about all records of a space wait until the table has them. */
export function afterPending(db: Database, pending: Pick<PendingRecords, 'settled'>): Database {
  const after = <Result>({ space, signal }: ReadStatement, run: () => Promise<Result>): Promise<Result> => {
    const waiting = space === undefined ? null : pending.settled(space, signal);
    return waiting === null ? run() : waiting.then(run);
  };
  return {
    ...db,
    command: (statement) => after(statement, () => db.command(statement)),
    rows: (statement) => after(statement, () => db.rows(statement)),
    stream: (statement) => after(statement, () => db.stream(statement)),
  };
}
