import type { ReadWriteLock } from '#kernel/limits/read-write-lock.ts';
import { forEachYielding } from '#kernel/limits/yielding-loop.ts';
import type { MemoryTables } from '../memory/memory-tables.ts';
import { rowOf } from '../sql/new-record.ts';
import type { SpacedRow } from '../sql/record-row.ts';
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
  /** For large inserts. */
  readonly statements: RecordWrites;
}

/**
 * Writes through the write-ahead log, for a process with an exclusive store. The effect of a change is known before it is made,
 * so it invalidates only the cached results that it concerns.
 */
export class LoggedWrites implements RecordWrites {
  readonly #parts: LoggedWritesParts;
  /** By space, for each large insert under way: ids of records that were changed since it began. */
  readonly #overtaken = new Map<string, Set<Set<string>>>();

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

  #insertMany(args: NewRecords): Promise<Pick<ChangeOutcome, 'invalidated'>> {
    const { space, records, receipt } = args;
    function* rows(): Generator<StoredRow> {
      for (const record of records) yield rowOf(space, record).row;
    }
    const { statements, tables, listeners } = this.#parts;
    return tables.insert(space.id, rows(), async () => {
      const changed = new Set<string>();
      const inserts = this.#overtaken.get(space.id) ?? new Set();
      this.#overtaken.set(space.id, inserts.add(changed));
      function* changes(): Generator<RowChange> {
        // a record that was found and changed before the statement ended was announced with that change
        for (const row of rows()) if (!changed.has(row._id)) yield asNew(row);
      }
      try {
        const stored = await statements.insert(args);
        listeners.get(space.id)?.changed(changes(), records.length);
        if (receipt !== undefined) tables.written(receipt.spaceId, receipt.row._id, receipt.row);
        return stored;
      } catch (error) {
        // it is unknown how much of it was stored
        listeners.get(space.id)?.reset();
        throw error;
      } finally {
        inserts.delete(changed);
        if (inserts.size === 0) this.#overtaken.delete(space.id);
      }
    });
  }

  async change({ space, steps, signal, permit }: RecordChange): Promise<ChangeOutcome> {
    const { pending, lock, results, listeners } = this.#parts;
    const rows = await lock.whenShared(space.id, signal, async () => {
      const stored = await this.#find(space, steps, signal);
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
          for (const changed of this.#overtaken.get(space.id) ?? [])
            for (const { write } of writes) changed.add(write.id);
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
