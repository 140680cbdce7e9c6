import { shownName } from '../../common/errors/shown-name.ts';
import { type Conversion, conversionOf, hasValueSql } from '../sql/convert-sql.ts';
import type { RecordStore } from '../store/record-store.ts';
import type { Field } from '../structure/field.ts';
import type { RetypedField } from './retyped-fields.ts';

/** What stored values say to a change of types. */
export interface RetypedCheck {
  /** What stands in the way; empty: nothing does. */
  readonly problems: readonly string[];
  /** How many values each field has, in their order. */
  readonly values: readonly number[];
}

type Deps = Pick<RecordStore, 'db' | 'table'>;
interface Records {
  readonly id: string;
  readonly ownerId: string;
  /** Whether a message may show a value. */
  readonly showsValue: boolean;
}

/** Characters of a value that a message shows. */
const shownCharacters = 101;
const groupByBytes = 100_000_000;

/** Counts the values that have no like in the new type, in one pass over the space. */
export async function checkRetyped(
  deps: Deps,
  records: Records,
  plan: readonly RetypedField[],
  signal: AbortSignal,
): Promise<RetypedCheck> {
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
    if (misfits > 0 && from.hashed) problems.push(`${what}: ${counted(misfits)} hashed`);
    else if (misfits > 0) {
      const value = shownName(String(row[`_example${index}`] ?? ''));
      const example = `${misfits === 1 ? ':' : ', such as'} ${value} in record ${row[`_record${index}`]}`;
      const stored = `${misfits} of ${all} stored ${all === 1 ? 'value' : 'values'}`;
      const verb = misfits === 1 ? 'does' : 'do';
      problems.push(`${what}: ${stored} ${verb} not convert${records.showsValue ? example : ''}`);
    } else if (all > 0 && unique) {
      const equal = await equalAfter(deps, records, { from, to }, signal);
      const example = records.showsValue ? ` ${shownName(equal ?? '')}` : ' equal';
      if (equal !== null)
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

function counted(count: number): string {
  return count === 1 ? '1 stored value is' : `${count} stored values are`;
}

/** A value that several records of a unique field would have; null: there is none. */
async function equalAfter(
  { db, table }: Deps,
  { id, ownerId }: Records,
  { from, to }: Pick<RetypedField, 'from' | 'to'>,
  signal: AbortSignal,
): Promise<string | null> {
  const { text } = conversionOf(from, to.type) as Conversion;
  const statement = table.select(id, {
    columns: `${text} AS _value`,
    where: hasValueSql(from),
    tail: `GROUP BY _value HAVING count() > 1 ORDER BY _value LIMIT 1
      SETTINGS max_bytes_before_external_group_by = ${groupByBytes}`,
  });
  const [row] = await db.rows<{ _value: string }>({ ...statement, signal, account: ownerId });
  return row?._value ?? null;
}
