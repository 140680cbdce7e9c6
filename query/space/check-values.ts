import { structureConflict } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import { linesOf } from '#records/json-array.ts';
import { conversionOf, docText, hasValueSql, isBeyondAscii, normalizedBy } from '#records/sql/convert-sql.ts';
import { valueSql } from '#records/sql/value-sql.ts';
import type { Engine } from '#records/store/record-store.ts';
import type { Field } from '#records/structure/field.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import type { Structure } from '#records/structure/structure.ts';
import type { Conversion } from '#records/types/field-type.ts';
import { isSameType, typeText } from '#records/types/field-types.ts';
import { normalized } from '#records/types/normalize.ts';
import type { RetypedField } from './retyped-fields.ts';

type Records = Pick<RecordSpace, 'id' | 'ownerId'>;

/** Characters of a value that a message shows. */
const shownCharacters = 101;
/** Values of several records that a message shows. */
const mostShown = 10;
/** Most stored texts beyond ASCII, and their characters, that may change when a field becomes normalized. */
const mostListed = 10_000;
const mostListedCharacters = 2 * 1024 * 1024;
/** Bytes of values that a check may hold in memory before it spills to files. */
const groupByBytes = 100_000_000;

/** Fields whose flag is switched on. */
export function switchedOn(
  before: Structure,
  after: Structure,
  flag: 'required' | 'unique',
): readonly Field[] {
  const bySlug = new Map(before.fields.map((field) => [field.slug, field]));
  return after.fields.filter((field) => field[flag] && bySlug.get(field.slug)?.[flag] === false);
}

/**
 * Throws a 400 that names every field whose stored values forbid that a flag is switched on. New fields are not checked:
 * as always, older records have no value for them.
 */
export async function checkSwitchedOn(
  deps: Engine,
  { space, after }: { readonly space: RecordSpace; readonly after: Structure },
  signal: AbortSignal,
): Promise<void> {
  const problems: string[] = [];
  for (const field of switchedOn(space.stored, after, 'required')) {
    const where = `${valueSql(field)} IS NULL`;
    const statement = deps.table.select(space.id, { columns: 'toFloat64(count()) AS _missing', where });
    const [row] = await deps.db.rows<{ _missing: number }>({ ...statement, signal, account: space.ownerId });
    const missing = row?._missing ?? 0;
    const what = missing === 1 ? '1 stored record has' : `${missing} stored records have`;
    if (missing > 0)
      problems.push(`Field ${shownName(field.name)} can not become required: ${what} no value`);
  }
  for (const field of switchedOn(space.stored, after, 'unique')) {
    const value = valueSql(field);
    const [found] = await repeatedValues(deps, space, { value, where: `${value} IS NOT NULL` }, signal);
    if (found !== undefined) {
      const what = `${found._times} stored records have the value ${shownName(found._value)}`;
      problems.push(`Field ${shownName(field.name)} can not become unique: ${what}`);
    }
  }
  if (problems.length > 0) throw structureConflict(problems);
}

/** Lists are in the order of the plan. */
interface CheckedFields {
  /** Reasons against the change. */
  readonly problems: readonly string[];
  /** The number of values of each field. */
  readonly values: readonly number[];
  readonly conversions: readonly (Conversion | null)[];
}

/** Counts the values that the new type can't hold, in one pass over the space. @param args.showsValue whether messages may */
export async function checkRetyped(
  deps: Engine,
  { showsValue, ...records }: Records & { readonly showsValue: boolean },
  plan: readonly RetypedField[],
  signal: AbortSignal,
): Promise<CheckedFields> {
  const conversions: (Conversion | null)[] = [];
  for (const field of plan) conversions.push(await conversionFor(deps, records, field, signal));
  const columns = plan.map(({ from }, index) => columnsOf(from, conversions[index] ?? null, index));
  const [row = {}] = await deps.db.rows<Readonly<Record<string, number | string>>>({
    ...deps.table.select(records.id, { columns: columns.join(', ') }),
    signal,
    account: records.ownerId,
  });
  const problems: string[] = [];
  const values: number[] = [];
  for (const [index, { from, to, unique }] of plan.entries()) {
    const all = Number(row[`_values${index}`] ?? 0);
    const misfits = Number(row[`_misfits${index}`] ?? 0);
    values.push(all);
    const what = refusal({ from, to });
    if (misfits > 0 && from.hashed) {
      problems.push(
        `${what}: ${misfits === 1 ? '1 stored value is' : `${misfits} stored values are`} hashed`,
      );
    } else if (misfits > 0 && conversions[index]?.needs !== undefined) {
      problems.push(`${what}: ${conversions[index].needs}`);
    } else if (misfits > 0) {
      const value = shownName(String(row[`_example${index}`] ?? ''));
      const example = `${misfits === 1 ? ':' : ', such as'} ${value} in record ${row[`_record${index}`]}`;
      const stored = `${misfits} of ${all} stored ${all === 1 ? 'value' : 'values'}`;
      const verb = misfits === 1 ? 'does' : 'do';
      problems.push(`${what}: ${stored} ${verb} not convert${showsValue ? example : ''}`);
    } else if (all > 0 && unique) {
      const { text: value } = conversions[index] as Conversion;
      const found = await repeatedValues(deps, records, { value, where: hasValueSql(from) }, signal);
      const examples = found.map(({ _value, _ids }) => `${shownName(_value)} (records ${_ids.join(', ')})`);
      const shown = showsValue ? `: ${examples.join('; ')}` : '';
      if (found.length > 0)
        problems.push(`${what}: it is unique, and several stored values would become equal${shown}`);
    }
  }
  return { problems, values, conversions };
}

/** The first half of an error message; the reason follows. */
export function refusal({ from, to }: Pick<RetypedField, 'from' | 'to'>): string {
  return isSameType(from, to)
    ? `Field ${shownName(from.name)} can not become normalized`
    : `Field ${shownName(from.name)} is stored as ${typeText(from)} and can not become ${typeText(to)}`;
}

/** Throws a 400 if too many texts would change to list them. */
async function conversionFor(
  { db, table }: Engine,
  { id, ownerId }: Records,
  { from, to, timeZone }: RetypedField,
  signal: AbortSignal,
): Promise<Conversion | null> {
  const { normalize } = to;
  if (from.hashed || !isSameType(from, to) || normalize === undefined)
    return conversionOf(from, timeZone === undefined ? to : { ...to, timeZone });
  const where = `${hasValueSql(from)} AND ${isBeyondAscii(from)}`;
  const read = { ...table.select(id, { columns: docText(from), where }), signal, account: ownerId };
  const others = new Map<string, string>();
  let characters = 0;
  for await (const line of linesOf(await db.stream({ ...read, format: 'JSONCompactEachRow' }))) {
    const [text] = JSON.parse(line) as [string];
    const value = normalized(text, normalize);
    if (value === text || others.has(text)) continue;
    others.set(text, value);
    characters += text.length + value.length;
    if (others.size > mostListed || characters > mostListedCharacters)
      throw structureConflict([
        `${refusal({ from, to })}: too many stored values beyond ASCII would change; update them first`,
      ]);
  }
  return normalizedBy(from, normalize, others);
}

function columnsOf(from: Field, conversion: Conversion | null, index: number): string {
  const has = hasValueSql(from);
  const misfit = `${has} AND NOT (${conversion?.fits ?? 'false'})`;
  const text = from.hashed ? `''` : `substringUTF8(${docText(from)}, 1, ${shownCharacters})`;
  return `toFloat64(countIf(${has})) AS _values${index}, toFloat64(countIf(${misfit})) AS _misfits${index},
    argMinIf(${text}, _id, ${misfit}) AS _example${index}, minIf(_id, ${misfit}) AS _record${index}`;
}

/** Values that several records have, the most frequent first, each with ids of some records. All texts are SQL. */
async function repeatedValues(
  { db, table }: Engine,
  { id, ownerId }: Records,
  { value, where }: { readonly value: string; readonly where: string },
  signal: AbortSignal,
): Promise<
  readonly { readonly _value: string; readonly _times: number; readonly _ids: readonly string[] }[]
> {
  const statement = table.select(id, {
    columns: `toString(${value}) AS _value, toFloat64(count()) AS _times, groupArraySorted(3)(_id) AS _ids`,
    where,
    tail: `GROUP BY ${value} HAVING count() > 1 ORDER BY _times DESC, _value LIMIT ${mostShown}
      SETTINGS max_bytes_before_external_group_by = ${groupByBytes}`,
  });
  return db.rows({ ...statement, signal, account: ownerId });
}
