import { join } from 'node:path';
import type { Database, ReadStatement } from '#engine/database.ts';
import type { CheckedLine } from '#kernel/durable-files/checked-lines.ts';
import type { FlushTimes } from '#kernel/durable-files/flushed-log.ts';
import { untilAborted } from '#kernel/limits/deadline.ts';
import type { Log } from '#kernel/log/log.ts';
import { joinedText } from '../sql/joined-text.ts';
import { allSpaces } from '../sql/records-table.ts';
import type { StoredRow } from '../sql/stored-row.ts';
import type { Engine } from '../store/record-store.ts';
import { statementRecords } from '../store/statement-writes.ts';
import { UpdateValues } from '../store/update-values.ts';
import { type BoundedEntry, BoundedLog, type LogLimits } from './bounded-log.ts';
import type { KnownRecords, RecordWrite } from './known-records.ts';
import { blockLine, blockOf, type PendingBlock } from './pending-block.ts';
import { storeBlocks } from './store-blocks.ts';
import { storeWrites } from './store-writes.ts';

interface WritesEntry extends BoundedEntry {
  readonly writes: readonly RecordWrite[];
}

interface BlockEntry extends BoundedEntry {
  readonly block: PendingBlock;
  /** Of its receipt, among the writes. */
  receiptNumber: number;
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

const mebibyte = 1024 * 1024;
const usualLimits: LogLimits = { pending: 32 * mebibyte, account: 16 * mebibyte, flush: 8 * mebibyte };
/** Writes are objects, too, until they are stored, and take more memory than the rows of a block. */
const blockLimits: LogLimits = { pending: 96 * mebibyte, account: 48 * mebibyte, flush: 24 * mebibyte };
const { signal: never } = new AbortController();

/**
 * Writes that are durable in a write-ahead log before they reach the table, for a process with an exclusive store
 * (docs/decisions/023-write-ahead-log-of-records.md). A write is acknowledged after one small write to a file,
 * which all waiting writes share; the table gets them in a few large statements. Until then `KnownRecords` has
 * the newest state of a record.
 *
 * Blocks have a log of their own, so that nobody's read waits for the INSERT of another account's bulk. A record of a block
 * is not in memory: it is only read, and changed, when the table has it.
 */
export class PendingRecords {
  readonly #known: KnownRecords;
  readonly #writes: BoundedLog<WritesEntry>;
  readonly #blocks: BoundedLog<BlockEntry>;

  private constructor(known: KnownRecords, writes: BoundedLog<WritesEntry>, blocks: BoundedLog<BlockEntry>) {
    this.#known = known;
    this.#writes = writes;
    this.#blocks = blocks;
  }

  /** First flushes the logs of an earlier process into the table. @param args.directory of the logs */
  static async open(
    args: Engine & {
      readonly directory: string;
      readonly log: Pick<Log, 'error' | 'warn' | 'info'>;
      readonly known: KnownRecords;
      readonly limits?: Partial<LogLimits>;
      readonly times?: Partial<FlushTimes>;
    },
  ): Promise<PendingRecords> {
    const { directory, log, times, known, limits } = args;
    const engine = { ...args, values: new UpdateValues(args) };
    const what = 'records';
    const writes = await BoundedLog.open<WritesEntry>({
      what,
      directory,
      log,
      times,
      limits: { ...usualLimits, ...limits },
      entryOf: (line) => writesEntry('', line, parsed(line) as readonly RecordWrite[]),
      store: (entries, again) =>
        storeWrites(
          engine,
          entries.flatMap((entry) => entry.writes),
          again,
        ),
      stored(entries) {
        for (const entry of entries)
          for (const { spaceId, id } of entry.writes) known.settle(spaceId, id, entry.number);
      },
    });
    const blocks = await BoundedLog.open<BlockEntry>({
      what,
      directory: join(directory, 'blocks'),
      log,
      times,
      limits: { ...blockLimits, ...limits },
      entryOf: (line) => blockEntry('', { line }, blockOf(parsed(line)), line.byteLength),
      store: (entries, again) =>
        storeBlocks(
          engine,
          entries.map(({ block }) => block),
          again,
        ),
      stored(entries) {
        for (const { block, receiptNumber } of entries) {
          const { spaceId, receipt } = block;
          known.settleBlock(spaceId);
          if (receipt !== null) known.settle(receipt.spaceId, receipt.id, receiptNumber);
        }
      },
    });
    return new PendingRecords(known, writes, blocks);
  }

  /** Makes the writes of one request, all or none. Resolves when they are durable and can be seen. */
  async write(writes: readonly PendingWrite[], { account, signal, seen }: WrittenBy): Promise<void> {
    const records = writes.map(({ write }) => write);
    const line =
      records.length <= statementRecords
        ? Buffer.from(`${JSON.stringify(records)}\n`)
        : await longLine(records);
    const entry = writesEntry(account, line, records);
    await this.#writes.append(entry, signal, () => {
      for (const { write, before } of writes) this.#known.apply(write, before, entry.number);
      seen();
    });
  }

  /** The same with a block. */
  async writeBlock(block: PendingBlock, { account, signal, seen }: WrittenBy): Promise<void> {
    const { receipt, spaceId, rows } = block;
    const entry = blockEntry(account, await blockLine(block), block, rows.byteLength);
    await this.#blocks.append(entry, signal, () => {
      this.#known.applyBlock(spaceId, entry.number);
      if (receipt !== null) {
        entry.receiptNumber = this.#writes.number();
        this.#known.apply(receipt, null, entry.receiptNumber);
      }
      seen();
    });
  }

  /** Resolves when the table has the blocks of the space; null: it has them already. */
  settledBlocks(spaceId: string, signal?: AbortSignal): Promise<void> | null {
    return until(this.#blocks.settled(this.#known.lastBlock(spaceId)), signal);
  }

  /** Resolves when the table has all records of the space; null: it has them already. */
  settled(spaceId: string, signal?: AbortSignal): Promise<void> | null {
    const isAll = spaceId === allSpaces;
    const writes = this.#writes.settled(isAll ? this.#writes.last : this.#known.lastPending(spaceId));
    const blocks = this.#blocks.settled(isAll ? this.#blocks.last : this.#known.lastBlock(spaceId));
    return until(
      writes && blocks ? Promise.all([writes, blocks]).then(() => {}) : (writes ?? blocks),
      signal,
    );
  }

  /** Flushes all pending writes into the table. The logs keep what fails for the next start. */
  async close(): Promise<void> {
    await Promise.all([this.#writes.close(), this.#blocks.close()]);
  }
}

function until(flushed: Promise<void> | null, signal: AbortSignal | undefined): Promise<void> | null {
  return flushed === null || signal === undefined ? flushed : untilAborted(flushed, signal);
}

async function longLine(writes: readonly RecordWrite[]): Promise<Uint8Array> {
  const textOf = (write: RecordWrite, index: number): string =>
    `${index > 0 ? ',' : ''}${JSON.stringify(write)}`;
  return Buffer.concat([Buffer.from('['), await joinedText(writes, textOf, never), Buffer.from(']\n')]);
}

function parsed(line: Uint8Array): unknown {
  return JSON.parse(Buffer.from(line).toString('utf8')) as unknown;
}

// written out: with Node.js 20, a property behind a spread costs each write a microsecond
function writesEntry(account: string, line: Uint8Array, writes: readonly RecordWrite[]): WritesEntry {
  return { line, size: line.byteLength, number: 0, account, writes };
}

function blockEntry(
  account: string,
  { line, checksum }: CheckedLine,
  block: PendingBlock,
  size: number,
): BlockEntry {
  return { line, checksum, size, number: 0, account, block, receiptNumber: 0 };
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
