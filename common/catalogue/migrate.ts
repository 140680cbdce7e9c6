import type { Database } from '#engine/database.ts';
import { textLiteral } from '#engine/literal.ts';
import { layoutOf, type TableLayout } from '#engine/table-layout.ts';

export interface Migration {
  /** Each migration runs once, in ascending order. */
  readonly version: number;
  readonly name: string;
  /** A migration must be repeatable: a process may die after a statement and before it records the migration. */
  readonly statements: (database: string, layout: TableLayout) => readonly string[];
}

/**
 * Migrates the tables to the newest version. Throws when the store is newer than this program.
 * @param migrations the oldest first
 */
export async function migrate(
  db: Database,
  database: string,
  migrations: readonly Migration[],
): Promise<readonly Migration[]> {
  // on a shared server the user may have this database without the right to create one
  const layout = layoutOf(db);
  const present = await db.rows({
    sql: `SELECT 1 FROM system.databases WHERE name = ${textLiteral(database)}`,
  });
  if (present.length === 0)
    await db.command({ sql: `CREATE DATABASE IF NOT EXISTS ${database}`, onEach: true });
  const table = `${database}.migrations`;
  const engine = layout.engine(table, 'ReplacingMergeTree');
  const made = await db.rows({
    sql: `SELECT 1 FROM system.tables WHERE database = ${textLiteral(database)} AND name = 'migrations'`,
  });
  // creating a table on every server fails while one is down, but processes must start even then
  if (made.length === 0) {
    await db.command({
      sql: `CREATE TABLE IF NOT EXISTS ${table} (version UInt32, name String, applied_at DateTime64(3, 'UTC'))
       ENGINE = ${engine} ORDER BY version SETTINGS fsync_after_insert = 1, fsync_part_directory = 1`,
      onEach: true,
    });
  }
  const done = await db.rows<{ version: number; name: string }>({
    sql: `SELECT version, name FROM ${table} FINAL`,
  });
  const newest = Math.max(0, ...migrations.map(({ version }) => version));
  const unknown = done.find(({ version }) => version > newest);
  if (unknown !== undefined) {
    throw new Error(
      `the data was written by a newer version of Sluice (migration ${unknown.version}, ${unknown.name}): ` +
        `this one knows migrations up to ${newest}`,
    );
  }
  const oldest = Math.min(...migrations.map(({ version }) => version));
  if (done.some(({ version }) => version < oldest)) {
    throw new Error(
      'the data was written by a version of Sluice that was never released, and this one cannot read it: ' +
        'begin with an empty DATA_DIR or another CLICKHOUSE_DATABASE',
    );
  }
  const pending = migrations.filter(({ version }) => !done.some((row) => row.version === version));
  for (const { version, name, statements } of pending) {
    for (const sql of statements(database, layout))
      await db.command({ sql, onEach: !sql.startsWith('INSERT') });
    await db.command({
      sql: `INSERT INTO ${table} VALUES (${version}, ${textLiteral(name)}, now64(3, 'UTC'))`,
    });
  }
  return pending;
}
