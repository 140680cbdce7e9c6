import type { MixSpace } from '../mix/mix.ts';
import { type FieldValue, recordOf } from '../seed/records.ts';
import { changedValue } from '../targets/records/record-choice.ts';
import type { StoredUpdate } from '../targets/target.ts';
import { inLanes } from './in-lanes.ts';
import { persistent, Unanswered } from './persistent.ts';
import { isUnclear } from './updated-records.ts';
import type { WrongList } from './wrong-list.ts';

export type ReadRecord = Readonly<Record<string, unknown>> & { readonly id: string };

/** How records of a server are read. */
export interface RecordReader {
  /** The records that have one of these values in a field: at least one of each value, and all that there are of most. */
  find(field: string, values: readonly FieldValue[], signal: AbortSignal): Promise<readonly ReadRecord[]>;
}

/** Records that the server has acknowledged, and how it must have them. */
export interface ExpectedRecord {
  readonly index: number;
  /** Null: any. */
  readonly id: string | null;
  /** Those that may each be its last. */
  readonly updates: readonly StoredUpdate[];
}

export interface RecordsToVerify {
  readonly seed: number;
  readonly space: MixSpace;
  readonly records: readonly ExpectedRecord[];
  /** The field that the load changes in some records of the space; null: none. */
  readonly changed: string | null;
}

/** Records of one find. */
const recordsOfFind = 100;
const findsAtOnce = 4;

/** Reads records, and compares them with those of the seed: none may be lost, stored twice or changed. May reject with an Unanswered. */
export async function verifyRecords(
  reader: RecordReader,
  { seed, space, records, changed }: RecordsToVerify,
  { list, signal }: { readonly list: WrongList; readonly signal: AbortSignal },
): Promise<void> {
  const key = distinctField(space, changed);
  // by its id a record can't be found twice
  const known = key === null ? records.filter(({ id }) => id !== null) : records;
  const values = new Map<ExpectedRecord, Record<string, FieldValue>>();
  const keyOf = (record: ExpectedRecord): FieldValue =>
    key === null ? (record.id as string) : (values.get(record)?.[key] as FieldValue);
  const batches = Array.from({ length: Math.ceil(known.length / recordsOfFind) }, (_, at) =>
    known.slice(at * recordsOfFind, (at + 1) * recordsOfFind),
  );
  await inLanes(batches, findsAtOnce, async (batch) => {
    for (const record of batch) values.set(record, recordOf(seed, space, record.index));
    let found: readonly ReadRecord[];
    try {
      found = await persistent(() => reader.find(key ?? 'id', batch.map(keyOf), signal), signal);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof Unanswered) throw error;
      const names = `records ${batch[0]?.index} to ${batch.at(-1)?.index} of ${space.name}`;
      list.add(`${names} can't be read: ${(error as Error).message}`);
      return;
    }
    const byKey = groupBy(found, key ?? 'id');
    for (const record of batch) {
      const expected = values.get(record) as Record<string, FieldValue>;
      const allowed = Object.fromEntries(Object.entries(expected).map(([field, value]) => [field, [value]]));
      const last = changed === null ? {} : lastValues(seed, space, record, changed);
      const problem = problemOf(record, byKey.get(keyOf(record)) ?? [], { ...allowed, ...last });
      if (problem !== null) list.add(`record ${record.index} of ${space.name} ${problem}`);
      list.checked++;
      list.bytes += JSON.stringify(expected).length;
      values.delete(record);
    }
  });
}

/** The values that a field may have; null: any. */
type Allowed = Readonly<Record<string, readonly FieldValue[] | null>>;

/** Those of the field that updates change. */
function lastValues(
  seed: number,
  space: MixSpace,
  { index, updates }: ExpectedRecord,
  field: string,
): Allowed {
  if (isUnclear(updates)) return { [field]: null };
  const values = updates.map(({ number }) => changedValue(seed, space, field, number));
  if (updates.every(({ ended }) => ended === null))
    values.push(recordOf(seed, space, index)[field] as FieldValue);
  return { [field]: [...new Set(values)] };
}

function groupBy(records: readonly ReadRecord[], field: string): Map<unknown, ReadRecord[]> {
  const groups = new Map<unknown, ReadRecord[]>();
  for (const record of records) {
    const group = groups.get(record[field]);
    if (group === undefined) groups.set(record[field], [record]);
    else group.push(record);
  }
  return groups;
}

/** A field with another value in each record; null: there is none. */
function distinctField({ fields }: MixSpace, changed: string | null): string | null {
  const distinct = fields.filter(
    ({ name, type, values }) => values === null && type !== 'BOOLEAN' && name !== changed,
  );
  return (distinct.find(({ unique }) => unique) ?? distinct[0])?.name ?? null;
}

/** @returns what is to be said after the name of a record, or null */
function problemOf({ id }: ExpectedRecord, found: readonly ReadRecord[], allowed: Allowed): string | null {
  const [first] = found;
  if (first === undefined) return id === null ? 'is lost' : `(id ${id}) is lost`;
  if (found.length > 1)
    return `is stored ${found.length} times: ids ${found.map((one) => one.id).join(', ')}`;
  if (id !== null && first.id !== id)
    return `(id ${id}) is lost, and there is another with its values: id ${first.id}`;
  for (const [field, values] of Object.entries(allowed)) {
    if (values === null || values.some((value) => value === first[field])) continue;
    const sent = values.map((value) => JSON.stringify(value)).join(' or ');
    return `(id ${first.id}) has another ${field}: ${JSON.stringify(first[field])}, and ${sent} was sent`;
  }
  return null;
}
