import type { Database } from '../../common/clickhouse/database.ts';
import { textLiteral } from '../../common/clickhouse/literal.ts';
import { type Topology, topologyOf } from '../../common/clickhouse/topology.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import type { InitialRows } from './initial-records.ts';
import { distributedTableSql, rowsTableSql, shardKey } from './record-table.ts';

/**
 * Makes the tables of a new space in a cluster, with its rows in them. The table over the shards comes last: where it
 * is, the rows are. Of several processes at this each row is stored once, because their INSERTs have one token
 * (https://clickhouse.com/docs/guides/developer/deduplicating-inserts-on-retries), and rows that an earlier process
 * stored before it died are left out.
 */
export async function createShardsWithRecords(
  db: Database,
  { space, initial }: { space: RecordSpace; initial: InitialRows },
  signal: AbortSignal,
): Promise<void> {
  const topology = topologyOf(db);
  const { table, structure } = space;
  await db.command(rowsTableSql(topology, table, structure.fields), signal, undefined, table);
  const all = topology.rowsOfAll(table, shardKey) as string;
  const lines = initial.lines.trimEnd().split('\n');
  const ids = lines.map((line) => (JSON.parse(line) as [string])[0]);
  const stored = await db.rows<{ _id: string }>(
    `SELECT _id FROM ${all} WHERE _id IN (${ids.map(textLiteral).join(', ')})`,
    signal,
    table,
  );
  const known = new Set(stored.map(({ _id }) => _id));
  const missing = lines.filter((_, index) => !known.has(ids[index] as string));
  if (missing.length > 0) {
    const sql = insertSql(all, initial.columns, missing, `initial:${space.id}`);
    await db.command(sql, signal, undefined, table);
  }
  await db.command(overSql(topology, space), signal, undefined, table);
}

function overSql(topology: Topology, { table, structure }: RecordSpace): string {
  return distributedTableSql(topology, table, structure.fields) as string;
}

function insertSql(all: string, columns: readonly string[], lines: readonly string[], token: string): string {
  return `INSERT INTO FUNCTION ${all} (${columns.join(', ')})
     SETTINGS insert_deduplicate = 1, insert_deduplication_token = ${textLiteral(token)}
     FORMAT JSONCompactEachRow\n${lines.join('\n')}\n`;
}
