import type { EngineProcess } from '#engine/engine-process.ts';
import { invalidOptions } from '#kernel/errors/catalogue.ts';
import { type AnsweredRow, foundGroupsJson, moreGroups } from '#records/group-rows.ts';
import { type AggregatePlan, aggregateLimits } from '#records/input/aggregate/aggregate-plan.ts';
import { asJsonArray } from '#records/json-array.ts';
import { nextPage } from '#records/next-page.ts';
import { aggregateSql, costSql } from '#records/sql/aggregate-sql.ts';
import { conditionsSql, orderSql } from '#records/sql/conditions-sql.ts';
import { recordExpression } from '#records/sql/value-sql.ts';
import { wholeRecord } from '#records/structure/record-parts.ts';
import type { Structure } from '#records/structure/structure.ts';
import { parseAggregate } from '../input/parse-aggregate.ts';
import { parseRequestConditions } from '../input/request-conditions.ts';
import type { FileColumn, FileLocation, FileTable } from './file-columns.ts';
import { type FileQuery, isAggregation } from './file-query.ts';

/** How many rows from the beginning of a file the answer needs; null: perhaps all. */
export function fewRows(fileQuery: FileQuery, { structure }: FileTable): number | null {
  const { options, conditions } = parseFind(fileQuery, structure);
  const { sort, page } = options;
  const isFirst = sort === null && conditionsSql(conditions) === null;
  return isFirst && page !== null ? page.offset + page.limit : null;
}

function rowsSql({ with: clocks, selected, from }: FileTable, location: FileLocation, more = ''): string {
  return `(${clocks} SELECT ${selected}${more} FROM ${from(location)})`;
}

/** The columns that the answer needs. A text of a condition that looks like a column in SQL adds that column. */
export function neededColumns(fileQuery: FileQuery, table: FileTable): readonly FileColumn[] {
  const parts = isAggregation(fileQuery.body) ? groupParts(fileQuery, table) : rowParts(fileQuery, table);
  const { columns, where, tail } = parts;
  const words = new Set(`${columns} ${where} ${tail}`.match(/\w+/g));
  return table.columns.filter((_, index) => words.has(table.structure.fields[index]?.slot ?? ''));
}

function groupParts({ body, request, query }: FileQuery, { structure }: FileTable) {
  const plan: AggregatePlan = parseAggregate(
    body,
    { query, header: (name) => request.header(name) },
    structure,
  );
  const isFilled = plan.groups.some(({ fill }) => fill);
  const { columns, tail } = aggregateSql(plan, costSql(0), isFilled ? aggregateLimits.rows + 1 : null);
  return { plan, columns, where: whereSql(plan.where), tail };
}

/** The groups of an aggregation, as JSON. */
export async function* groupChunks(
  table: FileTable,
  fileQuery: FileQuery,
  location: FileLocation,
  engine: EngineProcess,
): AsyncGenerator<Uint8Array> {
  const { plan, columns, where, tail } = groupParts(fileQuery, table);
  const rows = await engine.rows<AnsweredRow>(
    `SELECT ${columns} FROM ${rowsSql(table, location)} ${where} ${tail}, ${table.settings}`,
  );
  const json = foundGroupsJson(plan, rows);
  if (moreGroups(json) !== null) fileQuery.onMoreGroups?.();
  yield json;
}

function whereSql(conditions: Parameters<typeof conditionsSql>[0]): string {
  const where = conditionsSql(conditions);
  return where === null ? '' : `WHERE ${where}`;
}

function rowParts(fileQuery: FileQuery, { structure }: FileTable) {
  const { options, conditions } = parseFind(fileQuery, structure);
  const { sort, select } = options;
  return {
    options,
    columns: recordExpression(select ?? wholeRecord(structure), ','),
    where: whereSql(conditions),
    tail: sort === null ? '' : `ORDER BY ${orderSql(sort)}`,
  };
}

/** The rows that a find returns, as JSON. */
export function rowChunks(
  table: FileTable,
  fileQuery: FileQuery,
  location: FileLocation,
  engine: EngineProcess,
): AsyncGenerator<Uint8Array> {
  const { options, columns, where, tail } = rowParts(fileQuery, table);
  const { sort, page } = options;
  const next = nextPage(options, table.structure);
  if (next !== null) fileQuery.onNextPage?.(next);
  // rows have no ids, so their place breaks ties
  const rows = rowsSql(table, location, sort === null ? '' : ', rowNumberInAllBlocks() AS _id');
  const parts = [
    `SELECT toValidUTF8(${columns}) AS _record FROM ${rows}`,
    where,
    tail,
    page === null ? '' : `LIMIT ${page.limit} OFFSET ${page.offset}`,
    // one thread keeps the order of the rows
    `SETTINGS max_threads = 1, max_block_size = 8192, ${table.settings}`,
  ];
  return asJsonArray(engine.stream(parts.filter((part) => part !== '').join(' '), 'TSVRaw'));
}

/** Also throws a 400 for options that only records have. */
function parseFind(
  { body, request, query }: FileQuery,
  structure: Structure,
): ReturnType<typeof parseRequestConditions> {
  const parsed = parseRequestConditions({ body, key: '' }, request, structure, query);
  const { page, count } = parsed.options;
  const problems: string[] = [];
  if (page?.after !== undefined)
    problems.push('Options: $after is only for records: rows of a file have no id');
  if (count) problems.push('Options: $count is only for records: ask for {"values": {"rows": "count"}}');
  if (problems.length > 0) throw invalidOptions(problems);
  return parsed;
}
