import type { Database } from '#engine/database.ts';
import { textLiteral } from '#engine/literal.ts';
import { layoutOf, type TableLayout } from '#engine/table-layout.ts';

export interface Migration {
  /** Migrations run once each, in ascending order. */
  readonly version: number;
  readonly name: string;
  /** Each must do no harm when it runs again: a process may die between a statement and the note that it ran. */
  readonly statements: (database: string, layout: TableLayout) => readonly string[];
}

/**
 * Brings the metadata tables to the newest version. Throws when the store is newer than this program.
 * @param migrations the oldest first
 */
export async function migrate(
  db: Database,
  database: string,
  migrations: readonly Migration[],
): Promise<readonly Migration[]> {
  // a user of a shared server may have this database and not the right to make one
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
  // tables are made on each server, which fails while one is down; processes must start all the same then
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
      'the data was written by a version of Sluice that was never released, and this one can not read it: ' +
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
