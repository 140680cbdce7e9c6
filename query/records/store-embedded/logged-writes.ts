import type { ReadWriteLock } from '#kernel/limits/read-write-lock.ts';
import { forEachYielding } from '#kernel/limits/yielding-loop.ts';
import type { MemoryTables } from '../memory/memory-tables.ts';
import { rowOf } from '../sql/new-record.ts';
import { readRow } from '../sql/packed-row.ts';
import type { SpacedRow } from '../sql/record-row.ts';
import { newBlock, type PackedBlock } from '../sql/row-block.ts';
import type { StoredRow } from '../sql/stored-row.ts';
import { type Assignment, changedRow } from '../sql/update-sql.ts';
import type {
  ChangeOutcome,
  ChangeStep,
  NewRecords,
  RecordChange,
  RecordStore,
  RecordWrites,
} from '../store/record-store.ts';
import type { ChangeListener, RowChange } from '../store/row-change.ts';
import { statementRecords } from '../store/statement-writes.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import { kindOf, uniqueSlots } from '../structure/slots.ts';
import type { RecordWrite } from './known-records.ts';
import type { PendingRecords, PendingWrite } from './pending-records.ts';
import type { ResultCache } from './result-cache.ts';

const noHashes = Object.freeze({});

interface LoggedWritesParts {
  readonly pending: PendingRecords;
  readonly tables: MemoryTables;
  readonly lookUp: RecordStore['lookUp'];
  readonly lock: ReadWriteLock;
  readonly results: ResultCache;
  /** By space. */
  readonly listeners: ReadonlyMap<string, ChangeListener>;
}

/**
 * Writes through the write-ahead log, for a process with an exclusive store. The effect of a change is known before it is made,
 * so it invalidates only the cached results that it concerns.
 */
export class LoggedWrites implements RecordWrites {
  readonly #parts: LoggedWritesParts;

  constructor(parts: LoggedWritesParts) {
    this.#parts = parts;
  }

  async insert(args: NewRecords): Promise<Pick<ChangeOutcome, 'invalidated'>> {
    const { space, records, receipt, signal, permit } = args;
    const { pending, lock, results, listeners } = this.#parts;
    if (records.length > statementRecords) return this.#insertMany(args);
    const unique = uniqueSlots(space.stored);
    const rows = records.map((record) => rowOf(space, record));
    const writes: PendingWrite[] = rows.map(({ row, hashes }) => ({
      write: { spaceId: space.id, id: row._id, row, hashes, changed: null, unique },
      before: null,
    }));
    if (receipt !== undefined) writes.push({ write: writeOf(receipt), before: null });
    const effects = rows.map(({ row }) => row);
    const seen = (): void => {
      results.begin(space.id, effects)();
      listeners.get(space.id)?.changed(effects.map(asNew), effects.length);
    };
    await lock.whenShared(space.id, signal, async () => {
      permit?.check();
      await pending.write(writes, { account: space.ownerId, signal, seen });
    });
    return { invalidated: null };
  }

  async #insertMany({
    space,
    records,
    unique,
    receipt,
    signal,
    permit,
  }: NewRecords): Promise<Pick<ChangeOutcome, 'invalidated'>> {
    const { pending, lock, results, listeners, tables } = this.#parts;
    const block = await newBlock(space, records, unique, signal);
    const seen = (): void => {
      results.begin(space.id, null)();
      listeners.get(space.id)?.changed(newRows(block), records.length);
    };
    const write = (): Promise<void> =>
      lock.whenShared(space.id, signal, async () => {
        permit?.check();
        const written = receipt === undefined ? null : writeOf(receipt);
        await pending.writeBlock({ ...block, receipt: written }, { account: space.ownerId, signal, seen });
      });
    await tables.insert(block, write);
    return { invalidated: null };
  }

  async change({ space, steps, signal, permit }: RecordChange): Promise<ChangeOutcome> {
    const { pending, lock, results, listeners } = this.#parts;
    const rows = await lock.whenShared(space.id, signal, async () => {
      const stored = await this.#find(space, steps, signal);
      // memory may have shown it a record of a block
      await pending.settledBlocks(space.id, signal);
      const unique = uniqueSlots(space.stored);
      const writes: PendingWrite[] = [];
      const after: (StoredRow | null)[] = [];
      await forEachYielding(
        steps,
        ({ id, assignments }) => {
          const before = stored.get(id);
          const row = before === undefined || assignments === null ? null : changedRow(before, assignments);
          after.push(row ?? before ?? null);
          if (before === undefined) return;
          if (row === null) stored.delete(id);
          else stored.set(id, row);
          const changed = (assignments ?? []).map(({ slot }) => slot);
          const hashes = hashesOf(assignments ?? []);
          writes.push({ write: { spaceId: space.id, id, row, unique, hashes, changed }, before });
        },
        signal,
      );
      if (writes.length === 0) return after;
      const effects = writes.length > statementRecords ? null : writes.flatMap(effectsOf);
      permit?.check();
      await pending.write(writes, {
        account: space.ownerId,
        signal,
        seen: () => {
          results.begin(space.id, effects)();
          listeners.get(space.id)?.changed(writes.map(changeOf), writes.length);
        },
      });
      return after;
    });
    return { rows, invalidated: null };
  }

  async #find(
    space: RecordSpace,
    steps: readonly ChangeStep[],
    signal: AbortSignal,
  ): Promise<Map<string, StoredRow>> {
    const found = new Map<string, StoredRow>();
    const [first, second] = steps;
    if (first !== undefined && second === undefined) {
      for (const row of await this.#parts.lookUp(space, first, signal)) found.set(row._id, row);
      return found;
    }
    const ids = [...new Set(steps.map(({ id }) => id))];
    for (let from = 0; from < ids.length; from += statementRecords) {
      const some = ids.slice(from, from + statementRecords);
      const rows = await Promise.all(some.map((id) => this.#parts.lookUp(space, { id }, signal)));
      for (const row of rows.flat()) found.set(row._id, row);
    }
    return found;
  }
}

function* newRows({ rows, begins }: PackedBlock): Generator<RowChange> {
  for (const begin of begins) yield asNew(readRow(rows, begin));
}

function asNew(row: StoredRow): RowChange {
  return { id: row._id, before: null, after: row };
}

function changeOf({ write: { id, row }, before }: PendingWrite): RowChange {
  return { id, before, after: row };
}

function effectsOf({ write: { row }, before }: PendingWrite): readonly StoredRow[] {
  return [before, row].filter((each) => each !== null);
}

function writeOf({ spaceId, row, hashes }: SpacedRow): RecordWrite {
  return { spaceId, id: row._id, row, hashes, changed: null, unique: [] };
}

function hashesOf(assignments: readonly Assignment[]): Readonly<Record<string, string | null>> {
  const hashed = assignments.filter(({ slot }) => kindOf(slot) === 'h');
  if (hashed.length === 0) return noHashes;
  return Object.fromEntries(hashed.map(({ slot, value }) => [slot, value === null ? null : String(value)]));
}
