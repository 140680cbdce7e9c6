import type { Database } from '../../common/clickhouse/database.ts';
import { quoteIdentifier, textLiteral } from '../../common/clickhouse/literal.ts';
import { type Topology, topologyOf } from '../../common/clickhouse/topology.ts';
import type { Field, FieldType } from '../structure/field.ts';
import type { Structure } from '../structure/structure.ts';

const timestamp = `DateTime64(3, 'UTC')`;

const columnTypes: Readonly<Record<FieldType, string>> = {
  TEXT: 'String',
  NUMBER: 'Float64',
  BOOLEAN: 'Bool',
  ARRAY: 'String',
  OBJECT: 'String',
};

/**
 * Acknowledged rows survive a power cut; block numbers are what lightweight updates need. Tables with such updates must
 * never see a mutation (ALTER TABLE ... UPDATE, DELETE, MATERIALIZE, APPLY PATCHES): it loses updates that run beside it
 * (docs/decisions/003-updates.md).
 */
const settings =
  'fsync_after_insert = 1, fsync_part_directory = 1, enable_block_number_column = 1, enable_block_offset_column = 1';

const systemColumnsSql = ['_id String', `_created_at ${timestamp}`, `_updated_at ${timestamp}`];

/** Decides in which shard of a cluster a record lies. */
export const shardKey = 'cityHash64(_id)';

function tableName(spaceId: string): string {
  return `records_${spaceId.replaceAll('-', '')}`;
}

/** The table of a record space, quoted, with its database. */
export function recordTable(database: string, spaceId: string): string {
  return `${quoteIdentifier(database)}.${quoteIdentifier(tableName(spaceId))}`;
}

/**
 * Makes the table of a space, or brings it up to a structure. It does no harm when it runs again, or at once in two
 * processes, and it finishes what a process left half done when it died.
 */
export async function ensureRecordTable(
  db: Database,
  args: { database: string; spaceId: string; structure: Structure },
  signal: AbortSignal,
): Promise<void> {
  const { database, spaceId, structure } = args;
  const { fields } = structure;
  const table = recordTable(database, spaceId);
  const topology = topologyOf(db);
  const rows = topology.rowsTable(table);
  const make = (sql: string): Promise<void> => db.command(sql, signal, undefined, table);
  // DDL of a cluster takes a while, and fails while a server is down: only where there is something to do
  if (topology.cluster === undefined || (await partsOf(db, rows, table, signal)).size === 0) {
    await make(rowsTableSql(topology, table, fields));
  }
  const has = await partsOf(db, rows, table, signal);
  const additions = [
    ...fields
      .filter(({ slug }) => !has.has(`column ${slug}`))
      .map((field) => `ADD COLUMN IF NOT EXISTS ${columnSql(field)}`),
    ...fields
      .filter((field) => field.unique && !has.has(`index ${indexName(field)}`))
      .map((field) => `ADD INDEX IF NOT EXISTS ${indexSql(field)}`),
  ];
  if (additions.length > 0) {
    await make(`ALTER TABLE ${topology.rowsEverywhere(table)} ${additions.join(', ')}`);
  }
  // the table over the rows names columns, too; it follows, so that what it names is always there
  const over = distributedTableSql(topology, table, fields);
  if (over === null) return;
  if ((await partsOf(db, table, table, signal)).size === 0) await make(over);
  const named = await partsOf(db, table, table, signal);
  const missing = fields.filter(({ slug }) => !named.has(`column ${slug}`));
  if (missing.length === 0) return;
  const columns = missing.map((field) => `ADD COLUMN IF NOT EXISTS ${columnSql(field)}`);
  await make(`ALTER TABLE ${table}${topology.onCluster} ${columns.join(', ')}`);
}

/** `column <slug>` and `index <name>` of what a table has. @param home the record table that it belongs to */
async function partsOf(
  db: Database,
  table: string,
  home: string,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const [database, name] = table.replaceAll('`', '').split('.') as [string, string];
  const where = `database = ${textLiteral(database)} AND table = ${textLiteral(name)}`;
  const present = await db.rows<{ kind: string; name: string }>(
    `SELECT 'column' AS kind, name FROM system.columns WHERE ${where}
     UNION ALL SELECT 'index' AS kind, name FROM system.data_skipping_indices WHERE ${where}`,
    signal,
    home,
  );
  return new Set(present.map(({ kind, name }) => `${kind} ${name}`));
}

/** The table over the rows of all shards; null without a cluster. */
export function distributedTableSql(
  topology: Topology,
  table: string,
  fields: readonly Field[],
): string | null {
  const engine = topology.distributedEngine(table, shardKey);
  if (engine === null) return null;
  const columns = [...systemColumnsSql, ...fields.map(columnSql)].join(', ');
  return `CREATE TABLE IF NOT EXISTS ${table}${topology.onCluster} (${columns}) ENGINE = ${engine}`;
}

/** The table that holds the rows. @param table as `recordTable` says */
export function rowsTableSql(topology: Topology, table: string, fields: readonly Field[]): string {
  const parts = [
    ...systemColumnsSql,
    ...fields.map(columnSql),
    ...fields.filter(({ unique }) => unique).map((field) => `INDEX ${indexSql(field)}`),
  ];
  const engine = topology.rowsEngine(table, 'MergeTree');
  return `CREATE TABLE IF NOT EXISTS ${topology.rowsEverywhere(table)} (${parts.join(', ')}) ENGINE = ${engine} ORDER BY _id SETTINGS ${settings}`;
}

/** Always Nullable: a record without a value says so, and a column may be added when there are records. */
function columnSql({ slug, type, hashed }: Field): string {
  return `${quoteIdentifier(slug)} Nullable(${columnType({ type, hashed })})`;
}

/** The type of a field's column, without Nullable. */
export function columnType({ type, hashed }: Pick<Field, 'type' | 'hashed'>): string {
  return hashed ? 'String' : columnTypes[type];
}

function indexName({ slug }: Field): string {
  return `unique_${slug}`;
}

/** Lets the check for an equal value skip most of the table. */
function indexSql(field: Field): string {
  return `${quoteIdentifier(indexName(field))} ${quoteIdentifier(field.slug)} TYPE bloom_filter(0.01) GRANULARITY 1`;
}
