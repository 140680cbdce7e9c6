import { structureConflict } from '../../common/errors/catalogue.ts';
import { shownName } from '../../common/errors/shown-name.ts';
import { type Conversion, conversionOf, hasValueSql } from '../sql/convert-sql.ts';
import { valueSql } from '../sql/value-sql.ts';
import type { Engine } from '../store/record-store.ts';
import type { Field } from '../structure/field.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import type { Structure } from '../structure/structure.ts';
import type { RetypedField } from './retyped-fields.ts';

type Records = Pick<RecordSpace, 'id' | 'ownerId'>;

/** Characters of a value that a message shows. */
const shownCharacters = 101;
/** Values that a check may hold in memory before it goes on with files. */
const groupByBytes = 100_000_000;

/** Fields with a flag that was off and is on. */
export function switchedOn(
  before: Structure,
  after: Structure,
  flag: 'required' | 'unique',
): readonly Field[] {
  const bySlug = new Map(before.fields.map((field) => [field.slug, field]));
  return after.fields.filter((field) => field[flag] && bySlug.get(field.slug)?.[flag] === false);
}

/**
 * Throws a 400 that names every field whose stored values stand in the way of a flag that is switched on. A field that
 * is new is not looked at: records that are older than it have no value, as with every new field.
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
    const found = await repeatedValue(deps, space, { value, where: `${value} IS NOT NULL` }, signal);
    if (found !== null) {
      const what = `${found._times} stored records have the value ${shownName(found._value)}`;
      problems.push(`Field ${shownName(field.name)} can not become unique: ${what}`);
    }
  }
  if (problems.length > 0) throw structureConflict(problems);
}

/**
 * Counts the values that the new type can't hold, in one pass over the space. @param showsValue in a message
 * @returns reasons against the change, and how many values each field has
 */
export async function checkRetyped(
  deps: Engine,
  { showsValue, ...records }: Records & { readonly showsValue: boolean },
  plan: readonly RetypedField[],
  signal: AbortSignal,
): Promise<{ readonly problems: readonly string[]; readonly values: readonly number[] }> {
  const columns = plan.map(({ from, to }, index) => columnsOf(from, conversionOf(from, to.type), index));
  const [row = {}] = await deps.db.rows<Readonly<Record<string, number | string>>>({
    ...deps.table.select(records.id, { columns: columns.join(', ') }),
    ...{ signal, account: records.ownerId },
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
    } else if (misfits > 0) {
      const value = shownName(String(row[`_example${index}`] ?? ''));
      const example = `${misfits === 1 ? ':' : ', such as'} ${value} in record ${row[`_record${index}`]}`;
      const stored = `${misfits} of ${all} stored ${all === 1 ? 'value' : 'values'}`;
      const verb = misfits === 1 ? 'does' : 'do';
      problems.push(`${what}: ${stored} ${verb} not convert${showsValue ? example : ''}`);
    } else if (all > 0 && unique) {
      const { text } = conversionOf(from, to.type) as Conversion;
      const found = await repeatedValue(deps, records, { value: text, where: hasValueSql(from) }, signal);
      const example = showsValue ? ` ${shownName(found?._value ?? '')}` : ' equal';
      if (found !== null)
        problems.push(`${what}: it is unique, and several stored values would be${example}`);
    }
  }
  return { problems, values };
}

/** The beginning of a sentence that goes on with the reason. */
export function refusal({ from, to }: Pick<RetypedField, 'from' | 'to'>): string {
  return `Field ${shownName(from.name)} is stored as ${from.type} and can not become ${to.type}`;
}

function columnsOf(from: Field, conversion: Conversion | null, index: number): string {
  const has = hasValueSql(from);
  const misfit = `${has} AND NOT ${conversion?.fits ?? 'false'}`;
  const text = from.hashed ? `''` : `substringUTF8(_doc['${from.slot}'], 1, ${shownCharacters})`;
  return `toFloat64(countIf(${has})) AS _values${index}, toFloat64(countIf(${misfit})) AS _misfits${index},
    argMinIf(${text}, _id, ${misfit}) AS _example${index}, minIf(_id, ${misfit}) AS _record${index}`;
}

/** The value that most records have, of those that several have; null: there is none. All texts are SQL. */
async function repeatedValue(
  { db, table }: Engine,
  { id, ownerId }: Records,
  { value, where }: { readonly value: string; readonly where: string },
  signal: AbortSignal,
): Promise<{ readonly _value: string; readonly _times: number } | null> {
  const statement = table.select(id, {
    columns: `toString(${value}) AS _value, toFloat64(count()) AS _times`,
    where,
    tail: `GROUP BY ${value} HAVING count() > 1 ORDER BY _times DESC, _value LIMIT 1
      SETTINGS max_bytes_before_external_group_by = ${groupByBytes}`,
  });
  const read = { ...statement, signal, account: ownerId };
  const [row] = await db.rows<{ _value: string; _times: number }>(read);
  return row ?? null;
}
