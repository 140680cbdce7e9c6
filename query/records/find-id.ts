import type { Database } from '../../common/clickhouse/database.ts';
import { textLiteral } from '../../common/clickhouse/literal.ts';
import type { Conditions } from '../input/parse-conditions.ts';
import type { Options } from '../input/parse-options.ts';
import { orderSql } from '../sql/record-sql.ts';
import { systemColumns } from '../structure/field.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import type { Hasher } from './hasher.ts';
import { whereSql } from './narrow-hashed.ts';

interface FindIdDeps {
  readonly db: Database;
  readonly hasher: Hasher;
}

/** The id of the record that findOne would answer; null when none matches. */
export async function findId(
  deps: FindIdDeps,
  space: RecordSpace,
  conditions: Conditions,
  { sort, page }: Pick<Options, 'sort' | 'page'>,
  signal: AbortSignal,
): Promise<string | null> {
  const selected = await whereSql(deps, space, conditions, signal);
  if (selected === 'nothing') return null;
  const where = selected.where === null ? '' : `WHERE ${selected.where}`;
  const [row] = await deps.db.rows<{ _id: string }>(
    `SELECT _id FROM ${space.table} ${where} ORDER BY ${orderSql(sort)} LIMIT 1 OFFSET ${page?.offset ?? 0}`,
    signal,
    space.table,
  );
  return row?._id ?? null;
}

/** Whether the record with an id matches the conditions. */
export async function matches(
  deps: FindIdDeps,
  space: RecordSpace,
  conditions: Conditions,
  id: string,
  signal: AbortSignal,
): Promise<boolean> {
  const { relationship, plain } = conditions;
  // with the id among them, conditions on hashed fields have one record to check
  const narrowed =
    relationship === 'And'
      ? { ...conditions, plain: [...plain, { column: systemColumns.id, value: id }] }
      : conditions;
  const selected = await whereSql(deps, space, narrowed, signal);
  if (selected === 'nothing') return false;
  const where = selected.where === null ? '' : `${selected.where} AND `;
  const rows = await deps.db.rows(
    `SELECT 1 FROM ${space.table} WHERE ${where}_id = ${textLiteral(id)} LIMIT 1`,
    signal,
    space.table,
  );
  return rows.length > 0;
}
