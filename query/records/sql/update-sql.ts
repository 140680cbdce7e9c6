import { slotColumns } from '#catalogue/migrations/record-tables.ts';
import { textLiteral } from '#engine/literal.ts';
import type { ApiError } from '#kernel/errors/api-error.ts';
import { timestampText } from '#kernel/ids/row-values.ts';
import {
  additionOf,
  type Increment,
  isIncrement,
  type NewValue,
  sumOf,
  sumOutOfRange,
} from '../structure/increment.ts';
import { kindOf, type SlotKind } from '../structure/slots.ts';
import { wholeText } from '../types/column-text.ts';
import { typeEntry } from '../types/field-types.ts';
import { engineTime } from './record-row.ts';
import type { StoredRow } from './stored-row.ts';

/** The new value of one slot; for a hashed field the hash. */
export interface Assignment {
  readonly slot: string;
  readonly value: NewValue;
}

/** The record with the new values. Throws a 400 if a sum is no value of its field. `_updated_at` always grows, even if the clock stands still or goes back. */
export function changedRow(before: StoredRow, assignments: readonly Assignment[]): StoredRow {
  const doc: Record<string, string> = { ...before._doc };
  for (const { slot, value } of assignments) {
    if (kindOf(slot) === 'h') continue;
    if (value === null) delete doc[slot];
    else if (isIncrement(value)) doc[slot] = sumOf(value, doc[slot]);
    else doc[slot] = String(value);
  }
  const time = Math.max(Date.now(), Date.parse(before._updated_at) + 1);
  return { ...before, _updated_at: new Date(time).toISOString(), _doc: doc };
}

/** An UPDATE's values for one record. All records of a statement set, and add to, the same slots in the same order. */
export interface RowUpdate {
  readonly spaceId: string;
  readonly id: string;
  readonly assignments: readonly Assignment[];
  /** ISO 8601; absent: now, or a millisecond after the previous time. */
  readonly updatedAt?: string;
}

/**
 * The assignments of one lightweight UPDATE of many records: each column takes its value by the record's position in the
 * list of ids. It names only the slots that change, so concurrent changes of other slots are kept. Maps are changed key by key,
 * and the engine runs updates that read their own columns one after another (docs/decisions/003-updates.md).
 * `_updated_at` always grows, even when the clock stands still or goes back.
 */
export function updateAssignments(rows: readonly RowUpdate[], now: Date): string {
  const first = rows.slice(0, 1);
  const slots = first.flatMap(({ assignments }) => assignments.map(({ slot }) => slot));
  // if all records get the same values, the statement has them once
  const areAlike = rows.every(({ assignments }) => assignments === first[0]?.assignments);
  return areAlike && rows.length > 1
    ? partsOf(first, slots, '1', now)
    : partsOf(rows, slots, `indexOf([${rows.map(({ id }) => textLiteral(id)).join(', ')}], _id)`, now);
}

function partsOf(rows: readonly RowUpdate[], slots: readonly string[], place: string, now: Date): string {
  const parts: string[] = [];
  const sums: string[] = [];
  slots.forEach((slot, index) => {
    const kind = kindOf(slot);
    const given = rows.map(({ assignments }) => assignments[index]?.value ?? null);
    if (given.every(isIncrement)) {
      const sum = sumSql(slot, given, place);
      if (kind !== 'm') parts.push(`${slot} = ${kind === 'i' ? `toInt64(${sum})` : sum}`);
      sums.push(textLiteral(slot), sumTextSql(slot, given[0] as Increment, sum));
      return;
    }
    if (kind === 'm' || kind === 'h') return;
    const values = given.map((value) => valueText(kind, value));
    // a number that is read from text is exactly the double that was written
    parts.push(
      `${slot} = CAST([${values.join(', ')}], 'Array(Nullable(${slotColumns[kind].type}))')[${place}]`,
    );
  });
  for (const column of ['_doc', '_hashes']) {
    const isHere = ({ slot, value }: Assignment): boolean =>
      (kindOf(slot) === 'h') === (column === '_hashes') && !isIncrement(value);
    const lists = rows.map(({ assignments }) => assignments.filter(isHere));
    const added = column === '_doc' ? sums : [];
    const isSet = (lists[0] ?? []).length > 0;
    if (!isSet && added.length === 0) continue;
    const map = isSet ? mapSql(column, lists, place) : column;
    parts.push(`${column} = ${added.length === 0 ? map : `mapUpdate(${map}, map(${added.join(', ')}))`}`);
  }
  parts.push(`_updated_at = ${timeSql(rows, now, place)}`);
  return parts.join(', ');
}

function timeSql(rows: readonly RowUpdate[], now: Date, place: string): string {
  if (rows[0]?.updatedAt !== undefined) {
    const times = rows.map(({ updatedAt }) => textLiteral(engineTime(updatedAt as string)));
    return `CAST([${times.join(', ')}], 'Array(DateTime64(3, \\'UTC\\'))')[${place}]`;
  }
  return `greatest(toDateTime64(${textLiteral(timestampText(now))}, 3, 'UTC'), addMilliseconds(_updated_at, 1))`;
}

/** The stored number and the number to add: the engine reads and writes it in one step. All are of equal fields. */
function sumSql(slot: string, increments: readonly Increment[], place: string): string {
  const { field } = increments[0] as Increment;
  const { castText = String } = typeEntry(field.type);
  const { engineType } = additionOf(increments[0] as Increment);
  const isWhole = engineType !== 'Float64';
  const column = isWhole ? `toInt256(ifNull(${slot}, 0))` : `ifNull(${slot}, 0)`;
  const text = `_doc[${textLiteral(slot)}]`;
  const number = isWhole ? `toInt256OrZero(replaceOne(${text}, '.', ''))` : `toFloat64OrZero(${text})`;
  const added = increments.map(({ by }) => textLiteral(castText(String(by))));
  return `(${kindOf(slot) === 'm' ? number : column} + CAST([${added.join(', ')}], 'Array(${engineType})')[${place}])`;
}

/** The sum as text. A sum that is no value of the field fails the statement, which then changes nothing. */
function sumTextSql(slot: string, increment: Increment, sum: string): string {
  const { fits, textSql } = additionOf(increment);
  if (fits === undefined) return textSql(sum, increment.field);
  const checked = `(sum + throwIf(NOT (${fits('sum', increment.field)}), ${textLiteral(noSum + slot)}))`;
  return `arrayMap(sum -> ${textSql(checked, increment.field)}, [${sum}])[1]`;
}

const noSum = 'no sum for slot ';
// FUNCTION_THROW_IF_VALUE_IS_NON_ZERO
const noSumOf = new RegExp(`Code: 395\\. DB::Exception: ${noSum}(\\w+)`);

/** The 400 for a failed statement with a sum that is no value of its field; null: it failed otherwise. */
export function sumFailure(error: unknown, assignments: readonly Assignment[]): ApiError | null {
  const slot = error instanceof Error ? noSumOf.exec(error.message)?.[1] : undefined;
  const value = assignments.find((one) => one.slot === slot)?.value ?? null;
  return isIncrement(value) ? sumOutOfRange(value.field) : null;
}

/** The map with some values set, and null values removed. */
function mapSql(column: string, lists: readonly (readonly Assignment[])[], place: string): string {
  const set = lists.map((list) =>
    Object.fromEntries(
      list.flatMap(({ slot, value }) => (value === null ? [] : [[slot, String(value)] as const])),
    ),
  );
  const cleared = lists.map((list) => list.flatMap(({ slot, value }) => (value === null ? [slot] : [])));
  const updated = `mapUpdate(${column}, ${arraySql(set, 'Map(String, String)')}[${place}])`;
  if (cleared.every((slots) => slots.length === 0)) return updated;
  const without = `${arraySql(cleared, 'Array(String)')}[${place}]`;
  return `mapFilter((slot, _) -> NOT has(${without}, slot), ${updated})`;
}

/** As JSON text, which can hold any text and is parsed faster than an expression of many parts. */
function arraySql(values: readonly unknown[], type: string): string {
  return `JSONExtract(${textLiteral(JSON.stringify(values))}, 'Array(${type})')`;
}

function valueText(kind: SlotKind, value: NewValue): string {
  if (value === null) return 'NULL';
  return textLiteral(kind === 'i' ? wholeText(String(value)) : String(value));
}
