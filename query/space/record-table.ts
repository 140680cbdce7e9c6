import type { Database } from '../../common/clickhouse/database.ts';
import { quoteIdentifier, textLiteral } from '../../common/clickhouse/literal.ts';
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
  await db.command(createTableSql(table, fields), signal);
  const where = `database = ${textLiteral(database)} AND table = ${textLiteral(tableName(spaceId))}`;
  const present = await db.rows<{ kind: string; name: string }>(
    `SELECT 'column' AS kind, name FROM system.columns WHERE ${where}
     UNION ALL SELECT 'index' AS kind, name FROM system.data_skipping_indices WHERE ${where}`,
    signal,
  );
  const has = new Set(present.map(({ kind, name }) => `${kind} ${name}`));
  const additions = [
    ...fields
      .filter(({ slug }) => !has.has(`column ${slug}`))
      .map((field) => `ADD COLUMN IF NOT EXISTS ${columnSql(field)}`),
    ...fields
      .filter((field) => field.unique && !has.has(`index ${indexName(field)}`))
      .map((field) => `ADD INDEX IF NOT EXISTS ${indexSql(field)}`),
  ];
  if (additions.length > 0) await db.command(`ALTER TABLE ${table} ${additions.join(', ')}`, signal);
}

export function createTableSql(table: string, fields: readonly Field[]): string {
  const parts = [
    '_id String',
    `_created_at ${timestamp}`,
    `_updated_at ${timestamp}`,
    ...fields.map(columnSql),
    ...fields.filter(({ unique }) => unique).map((field) => `INDEX ${indexSql(field)}`),
  ];
  return `CREATE TABLE IF NOT EXISTS ${table} (${parts.join(', ')}) ENGINE = MergeTree ORDER BY _id SETTINGS ${settings}`;
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
