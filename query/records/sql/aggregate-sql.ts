import { moreRead } from '#engine/exceeded-limit.ts';
import {
  type AggregatePlan,
  digitsColumns,
  digitsIn,
  type Value,
} from '../input/aggregate/aggregate-plan.ts';
import { functions } from '../input/aggregate/functions.ts';
import { typeEntry } from '../types/field-types.ts';
import { conditionsSql } from './conditions-sql.ts';
import { subjectSql } from './filter-sql.ts';
import type { Selection } from './records-table.ts';

/** Limits of one aggregation in the engine, and of its answer. Bytes, except for the groups. */
export const mostGroups = 1_000_000;
const mostMemory = 512 * 1024 ** 2;
const mostResult = 16 * 1024 ** 2;

/**
 * Settings.
 * @param rows that a statement may plan to read; 0: any number
 * @param timeout milliseconds; absent: as usual
 */
export function costSql(rows: number, timeout?: number): string {
  const time = timeout === undefined ? '' : `, max_execution_time = ${timeout / 1000}`;
  return `max_rows_to_read = ${rows}${time}`;
}

/** A condition that fails at the first row read beyond this number. It has to come first. */
export function countedSql(rows: number): string {
  return `throwIf(rowNumberInAllBlocks() >= ${rows}, '${moreRead}') = 0`;
}

/** One thread and small blocks, so that hardly more rows are read and counted than needed. */
export const countedSettings = 'max_threads = 1, max_block_size = 2048, read_in_order_use_virtual_row = 1';

const settings = [
  `max_rows_to_group_by = ${mostGroups}`,
  `group_by_overflow_mode = 'throw'`,
  `max_memory_usage = ${mostMemory}`,
  `max_result_bytes = ${mostResult}`,
  `result_overflow_mode = 'throw'`,
].join(', ');

/**
 * The groups of an aggregation, in its order. One group beyond its limit shows that there are more.
 * @param cost settings
 * @param rows limit of groups in place of the plan's own `having` and limit; null: as the plan asks
 */
export function aggregateSql(
  plan: AggregatePlan,
  cost: string,
  rows: number | null,
): Pick<Selection, 'columns' | 'tail'> {
  const { groups, values, having, sort, limit } = plan;
  const keys = groups.map(({ bucket, column, ...subject }) => {
    const sql = subjectSql(subject);
    const isField = typeof subject.target !== 'string';
    const number = isField ? bucket?.sqlOfMicros(sql) : bucket?.sql(sql);
    return `${number ?? sql} AS ${column}`;
  });
  const columns = [
    ...keys,
    ...values.map((value) => `${computedSql(value, groups.length > 0)} AS ${value.column}`),
    ...digitsColumns(plan).map(({ column }) => `toString(${column}) AS ${digitsIn(column)}`),
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
    `LIMIT ${rows ?? limit + 1} SETTINGS ${cost}, ${settings}`,
  ];
  return { columns: columns.join(', '), tail: tail.filter((part) => part !== '').join(' ') };
}

function isExact({ target, path }: NonNullable<Value['of']>): boolean {
  return typeof target !== 'string' && path.length === 0 && typeEntry(target.type).isExact === true;
}

/** Without records, everything except the count is NULL. */
function computedSql({ of }: Value, isGrouped: boolean): string {
  if (of === null) return 'count()';
  const sql = functions[of.name]?.sql(`toNullable(${subjectSql(of)})`, of.level, isExact(of)) as string;
  return isGrouped || of.name !== 'distinct' ? sql : `if(count() = 0, NULL, ${sql})`;
}
