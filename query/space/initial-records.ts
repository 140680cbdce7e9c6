import { randomBytes } from 'node:crypto';
import type { Database } from '../../common/clickhouse/database.ts';
import { quoteIdentifier, textLiteral } from '../../common/clickhouse/literal.ts';
import { topologyOf } from '../../common/clickhouse/topology.ts';
import { ApiError } from '../../common/errors/api-error.ts';
import { invalidStructure } from '../../common/errors/catalogue.ts';
import { type RecordValues, validateRecords } from '../input/validate-record.ts';
import type { Hasher } from '../records/hasher.ts';
import { rowLayout, rowLines } from '../records/record-row.ts';
import { withHashes } from '../records/store-records.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import { collectUniqueValues } from '../unique/unique-values.ts';
import { createShardsWithRecords } from './initial-records-of-shards.ts';
import { recordTable, rowsTableSql } from './record-table.ts';

/** Rows of a new space in the form that the catalogue keeps. */
export interface InitialRows {
  /** Quoted. */
  readonly columns: readonly string[];
  /** JSONCompactEachRow. */
  readonly lines: string;
}

/**
 * Checks a structure's initialData like the body of insert and makes rows of it; an empty text when there is none.
 * They get their ids and hashes here, so that it does not matter which process stores them. Throws a 400 that lists
 * every problem.
 */
export async function prepareInitialRecords(
  { hasher, newId }: { hasher: Hasher; newId: () => string },
  space: RecordSpace,
  signal: AbortSignal,
): Promise<string> {
  const { structure } = space;
  if (structure.initialData.length === 0) return '';
  const records = await validate(space, signal);
  const hashed = await withHashes(hasher, structure, records, signal);
  const createdAt = new Date();
  const layout = rowLayout(structure);
  const made = hashed.map((values) => ({ id: newId(), createdAt, values }));
  const lines = await rowLines(layout, made, signal);
  const rows: InitialRows = { columns: layout.columns, lines: Buffer.from(lines).toString('utf8') };
  return JSON.stringify(rows);
}

async function validate(space: RecordSpace, signal: AbortSignal): Promise<readonly RecordValues[]> {
  const { structure } = space;
  // what a header's bytes become when they are not UTF-8
  if (JSON.stringify(structure.initialData).includes('\uFFFD')) {
    throw invalidStructure([
      'The structure has initialData that is not valid UTF-8: write such characters as \\u escapes',
    ]);
  }
  try {
    const records = await validateRecords(structure.initialData, structure, signal);
    collectUniqueValues(space, records);
    return records;
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 400) throw error;
    throw invalidStructure(error.problems.map((problem) => `The structure's initialData: ${problem}`));
  }
}

/**
 * Makes the table of a new space with its rows in it. They are written into a table of another name, which then takes
 * the right one: of several processes at this, or one that died at it, exactly one succeeds, and the rows are there
 * once. Does nothing when the table is there already.
 */
export async function createTableWithRecords(
  db: Database,
  args: { database: string; space: RecordSpace; initialRecords: string },
  signal: AbortSignal,
): Promise<void> {
  const { database, space, initialRecords } = args;
  const target = recordTable(database, space.id);
  if (await exists(db, target, signal)) return;
  const initial = JSON.parse(initialRecords) as InitialRows;
  const topology = topologyOf(db);
  // names of replicated tables stand in Keeper, so they are not changed
  if (topology.cluster !== undefined) return createShardsWithRecords(db, { space, initial }, signal);
  const prefix = `new_${space.id.replaceAll('-', '')}_`;
  const own = `${quoteIdentifier(database)}.${quoteIdentifier(prefix + randomBytes(8).toString('hex'))}`;
  const { columns, lines } = initial;
  try {
    await db.command(rowsTableSql(topology, own, space.structure.fields), signal, undefined, target);
    await db.insert(own, columns, Buffer.from(lines), signal);
    // fails when another process was first: https://clickhouse.com/docs/sql-reference/statements/rename
    await db.command(`RENAME TABLE ${own} TO ${target}`, signal, undefined, target);
  } catch (error) {
    if (!(await exists(db, target, signal))) throw error;
  }
  await dropLeftovers(db, { database, prefix }, signal);
}

async function exists(db: Database, table: string, signal: AbortSignal): Promise<boolean> {
  const [row] = await db.rows<{ result: number }>(`EXISTS TABLE ${table}`, signal, table);
  return row?.result === 1;
}

/** Tables that processes made for a space whose table is there by now; whoever still fills one finds that out. */
async function dropLeftovers(
  db: Database,
  { database, prefix }: { database: string; prefix: string },
  signal: AbortSignal,
): Promise<void> {
  const rows = await db.rows<{ name: string }>(
    `SELECT name FROM system.tables
     WHERE database = ${textLiteral(database)} AND startsWith(name, ${textLiteral(prefix)})`,
    signal,
  );
  for (const { name } of rows) {
    await db.command(`DROP TABLE IF EXISTS ${quoteIdentifier(database)}.${quoteIdentifier(name)}`, signal);
  }
}
