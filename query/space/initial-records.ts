import type { Hasher } from '#auth/hasher.ts';
import { ApiError } from '#kernel/errors/api-error.ts';
import { invalidStructure, invalidValue } from '#kernel/errors/catalogue.ts';
import { namesInValues } from '#records/file-fields.ts';
import { type RecordValues, validateRecords } from '#records/input/validate-record.ts';
import { withHashes } from '#records/record-inserts.ts';
import { newRecordLines } from '#records/sql/new-record.ts';
import type { RecordStore } from '#records/store/record-store.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { collectUniqueValues, type UniqueValue } from '#records/unique-values.ts';

/** Replaces the initial records in the catalogue once they are stored, or the space had other records. */
export const begun = 'begun';

export function mustBeStored(initialRecords: string): boolean {
  return initialRecords !== '' && initialRecords !== begun;
}

export async function isEmpty(
  { db, table }: RecordStore,
  { id, ownerId }: Pick<RecordSpace, 'id' | 'ownerId'>,
  signal: AbortSignal,
): Promise<boolean> {
  const statement = table.select(id, { columns: '1', tail: 'LIMIT 1' });
  return (await db.rows({ ...statement, signal, account: ownerId })).length === 0;
}

/** Initial records as the catalogue stores them. */
interface InitialRows {
  /** JSONEachRow. */
  readonly lines: string;
}

/**
 * Checks a structure's initialData like the body of an insert, and makes rows of it; empty if there is none. The rows get
 * their ids and hashes here, so it does not matter which process stores them. Throws a 400 that lists every problem.
 */
export async function prepareInitialRecords(
  { hasher, newId }: { hasher: Hasher; newId: () => string },
  space: RecordSpace,
  signal: AbortSignal,
): Promise<string> {
  const { structure } = space;
  if (structure.initialData.length === 0) return '';
  const { records, unique } = await validate(space, signal);
  const hashed = await withHashes(hasher, space, records, signal);
  const createdAt = new Date().toISOString();
  const made = hashed.map((values) => ({ id: newId(), createdAt, values }));
  const rows: InitialRows = {
    lines: Buffer.from(await newRecordLines(space, made, [...unique], signal)).toString(),
  };
  return JSON.stringify(rows);
}

async function validate(
  space: RecordSpace,
  signal: AbortSignal,
): Promise<{ readonly records: readonly RecordValues[]; readonly unique: Iterable<UniqueValue> }> {
  const { structure } = space;
  // invalid UTF-8 in a header becomes this character
  if (JSON.stringify(structure.initialData).includes('\uFFFD')) {
    throw invalidStructure([
      'The structure has initialData that is not valid UTF-8: write such characters as \\u escapes',
    ]);
  }
  try {
    const records = await validateRecords(structure.initialData, structure, signal);
    // other processes may store the records much later, when the files are gone
    if (records.some((values) => namesInValues(structure, values).length > 0))
      throw invalidValue(['a FILE has no initial values']);
    return { records, unique: (await collectUniqueValues(space, records, signal)).values() };
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 400) throw error;
    throw invalidStructure(error.problems.map((problem) => `The structure's initialData: ${problem}`));
  }
}

/**
 * Stores the initial records of a space. Several processes may try, even after one died: their INSERTs have the same token,
 * and the table takes the rows of a token only once
 * (https://clickhouse.com/docs/guides/developer/deduplicating-inserts-on-retries).
 */
export async function storeInitialRecords(
  { db, table, keys }: RecordStore,
  { id }: RecordSpace,
  initialRecords: string,
  signal: AbortSignal,
): Promise<void> {
  const { lines } = JSON.parse(initialRecords) as InitialRows;
  const home = table.homeOf(id);
  await db.insert({ ...table.recordRows, lines: Buffer.from(lines), home, token: `initial:${id}`, signal });
  await keys.addRows(table.allKeys(id));
}
