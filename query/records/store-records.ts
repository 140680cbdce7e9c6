import { untilAborted } from '../../common/abort/until-aborted.ts';
import type { Database } from '../../common/clickhouse/database.ts';
import type { GroupCommit } from '../../common/clickhouse/group-commit.ts';
import { textLiteral } from '../../common/clickhouse/literal.ts';
import { inTurns } from '../../common/limits/in-turns.ts';
import type { RecordValues } from '../input/validate-record.ts';
import type { StoredValue } from '../structure/field.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import type { Structure } from '../structure/structure.ts';
import { firstRecordKey } from '../unique/reservation-keys.ts';
import type { Reservation, UniqueReservations } from '../unique/unique-reservations.ts';
import { alreadyStored, collectUniqueValues, findStored } from '../unique/unique-values.ts';
import type { Hasher } from './hasher.ts';
import { type NewRecord, rowLayout, rowLines } from './record-row.ts';
import type { SpaceVersions } from './space-versions.ts';

export interface RecordStore {
  /**
   * Stores the records of one request, all or none, in their order. Resolves when they are durable and a find sees
   * them; throws a 400 when a value of a unique field is taken.
   */
  store(
    space: RecordSpace,
    records: readonly RecordValues[],
    signal: AbortSignal,
  ): Promise<readonly NewRecord[]>;
  /**
   * Stores a record as the first one of its space; null when there is one by now. Of several that are stored at once,
   * also by other processes that share reservations, one becomes the first.
   */
  storeFirst(space: RecordSpace, record: RecordValues, signal: AbortSignal): Promise<NewRecord | null>;
}

export function createRecordStore(deps: {
  db: Database;
  hasher: Hasher;
  reservations: UniqueReservations;
  groupCommit: GroupCommit;
  newId: () => string;
  versions: SpaceVersions;
}): RecordStore {
  const { db, hasher, reservations, groupCommit, newId, versions } = deps;

  /** @param first absent: there may be other records. Answers null when it was given, and there are */
  const storeAll = async (
    space: RecordSpace,
    records: readonly RecordValues[],
    signal: AbortSignal,
    first?: { readonly key: string; readonly isTaken: () => Promise<boolean> },
  ): Promise<readonly NewRecord[] | null> => {
    const unique = collectUniqueValues(space, records);
    const hashed = await withHashes(hasher, space.structure, records, signal);
    const keys = [...unique.keys(), ...(first === undefined ? [] : [first.key])];
    let reservation: Reservation | null = null;
    if (keys.length > 0) {
      const result = await reservations.reserve(keys, signal);
      if ('takenKey' in result) {
        if (result.takenKey === first?.key) return null;
        throw alreadyStored(unique, [result.takenKey]);
      }
      reservation = result.reservation;
    }
    let stored: Iterable<string> = [];
    const settle = async (): Promise<void> => reservation?.settle(stored);
    let written: NewRecord[];
    let outcome: Promise<void>;
    try {
      if (first !== undefined && (await first.isTaken())) {
        await settle();
        return null;
      }
      if (unique.size > 0) {
        const taken = await findStored(db, space, unique, signal);
        stored = taken;
        if (taken.size > 0) throw alreadyStored(unique, taken);
      }
      const createdAt = new Date();
      const made: NewRecord[] = [];
      await inTurns(hashed, (values) => made.push({ id: newId(), createdAt, values }), signal);
      written = made;
      const layout = rowLayout(space.structure);
      const lines = await rowLines(layout, written, signal);
      outcome = groupCommit.write({
        table: space.table,
        columns: layout.columns,
        lines,
        proof: `_id = ${textLiteral((written[0] as NewRecord).id)}`,
        signal,
        permit: reservation?.permit ?? null,
      });
    } catch (error) {
      await settle();
      throw error;
    }
    // the values stay reserved until the outcome is known, even when the client has gone
    const settled = outcome
      .then(() => {
        stored = keys;
      })
      .finally(settle)
      // whatever the outcome: of some failures nobody knows what they did
      .finally(() => versions.change(space.id));
    await untilAborted(settled, signal);
    return written;
  };

  return {
    async store(space, records, signal) {
      return (await storeAll(space, records, signal)) as readonly NewRecord[];
    },
    async storeFirst(space, record, signal) {
      const isTaken = async (): Promise<boolean> =>
        (await db.rows(`SELECT 1 FROM ${space.table} LIMIT 1`, signal, space.table)).length > 0;
      const stored = await storeAll(space, [record], signal, { key: firstRecordKey(space), isTaken });
      return stored?.[0] ?? null;
    },
  };
}

/** The records with the values of hashed fields replaced by their hashes. */
export async function withHashes(
  hasher: Hasher,
  { fields }: Structure,
  records: readonly RecordValues[],
  signal: AbortSignal,
): Promise<readonly RecordValues[]> {
  const indexes = fields.flatMap((field, index) => (field.hashed ? [index] : []));
  if (indexes.length === 0) return records;
  const places = records.flatMap((record, row) =>
    indexes.filter((index) => (record[index] ?? null) !== null).map((index) => ({ row, index })),
  );
  const hashes = await hasher.hashValues(
    places.map(({ row, index }) => records[row]?.[index] as StoredValue),
    signal,
  );
  const result = records.map((record) => [...record]);
  places.forEach(({ row, index }, place) => {
    (result[row] as (StoredValue | null)[])[index] = hashes[place] as string;
  });
  return result;
}
