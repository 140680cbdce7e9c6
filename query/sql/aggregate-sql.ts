import type { AggregatePlan, Value } from '../input/aggregate/aggregate-plan.ts';
import { functions } from '../input/aggregate/functions.ts';
import { conditionsSql } from './conditions-sql.ts';
import { subjectSql } from './filter-sql.ts';
import type { Selection } from './records-table.ts';

/** Limits of one aggregation in the engine, and of its answer. Bytes, but for the groups. */
const mostGroups = 1_000_000;
const mostMemory = 512 * 1024 ** 2;
const mostResult = 16 * 1024 ** 2;

/** A setting. @param rows that a statement may read; 0: any number */
export function costSql(rows: number): string {
  return `max_rows_to_read = ${rows}`;
}

const settings = [
  `max_rows_to_group_by = ${mostGroups}`,
  `group_by_overflow_mode = 'throw'`,
  `max_memory_usage = ${mostMemory}`,
  `max_result_bytes = ${mostResult}`,
  `result_overflow_mode = 'throw'`,
].join(', ');

/**
 * The groups of an aggregation, in its order.
 * @param mostRows that may be read; 0: any number
 * @param rows so many of all groups, whatever it asks for; null: as it asks
 */
export function aggregateSql(
  plan: AggregatePlan,
  mostRows: number,
  rows: number | null,
): Pick<Selection, 'columns' | 'tail'> {
  const { groups, values, having, sort, limit } = plan;
  const keys = groups.map(({ bucket, column, ...subject }) => {
    const sql = subjectSql(subject);
    return `${bucket?.sql(sql) ?? sql} AS ${column}`;
  });
  const columns = [
    ...keys,
    ...values.map((value) => `${computedSql(value, groups.length > 0)} AS ${value.column}`),
  ];
  const wanted = rows === null ? conditionsSql(having) : null;
  const order = [
    ...sort.map(({ column, descending }) => `${column} ${descending ? 'DESC' : 'ASC'} NULLS LAST`),
    ...groups.map(({ column }) => `${column} NULLS LAST`),
  ];
  const tail = [
    groups.length > 0 ? `GROUP BY ${groups.map(({ column }) => column).join(', ')}` : '',
    wanted === null ? '' : `HAVING ${wanted}`,
    order.length > 0 ? `ORDER BY ${order.join(', ')}` : '',
    `LIMIT ${rows ?? limit} SETTINGS ${costSql(mostRows)}, ${settings}`,
  ];
  return { columns: columns.join(', '), tail: tail.filter((part) => part !== '').join(' ') };
}

/** Over nothing all but the count is NULL. */
function computedSql({ of }: Value, isGrouped: boolean): string {
  if (of === null) return 'count()';
  const sql = functions[of.name]?.sql(`toNullable(${subjectSql(of)})`, of.level) as string;
  return isGrouped || of.name !== 'distinct' ? sql : `if(count() = 0, NULL, ${sql})`;
}
