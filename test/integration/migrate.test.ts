/** What a start makes of a store that another version wrote. */
import t from 'tap';
import { migrate } from '#catalogue/migrate.ts';
import { migrations } from '#catalogue/migrations.ts';
import { storeMigrations } from '#catalogue/stores/store-tables.ts';
import { openMigratedChdb } from '../services/migrated-chdb.ts';
import { rejectionOf } from '../services/rejection-of.ts';

const { db } = await openMigratedChdb(t);

/** A store of which only this is known: that these migrations ran. */
async function storeWith(database: string, versions: readonly number[]): Promise<void> {
  await db.command({ sql: `CREATE DATABASE ${database}` });
  await db.command({
    sql: `CREATE TABLE ${database}.migrations (version UInt32, name String, applied_at DateTime64(3, 'UTC'))
      ENGINE = ReplacingMergeTree ORDER BY version`,
  });
  for (const version of versions) {
    await db.command({
      sql: `INSERT INTO ${database}.migrations VALUES (${version}, 'made elsewhere', now64(3))`,
    });
  }
}
const tablesOf = (database: string) =>
  db.rows({ sql: `SELECT name FROM system.tables WHERE database = '${database}'` });
const refusal = async (database: string): Promise<string> => {
  const before = await tablesOf(database);
  const error = (await rejectionOf(migrate(db, database, migrations))) as Error;
  t.strictSame(await tablesOf(database), before, 'nothing is made');
  return error.message;
};

t.test('a store of the earlier form is refused with one sentence that says what to do', async (t) => {
  await storeWith('earlier', [10, 11, 33]);
  const message = await refusal('earlier');
  t.match(message, /^the data was written by a version of Sluice that was never released.*empty DATA_DIR/);
  t.notMatch(message, /\n/);
  // also when a start of this version had begun on it
  await storeWith('mixed', [33, 100]);
  t.match(await refusal('mixed'), /never released/);
});

t.test('a store of a newer form is refused as well', async (t) => {
  await storeWith('newer', [100, 101, 9999]);
  t.match(
    await refusal('newer'),
    /^the data was written by a newer version of Sluice \(migration 9999, made elsewhere\)/,
  );
});

t.test('where inserts are synced, merges are too', async (t) => {
  await db.command({ sql: 'CREATE DATABASE records_only' });
  await migrate(db, 'records_only', storeMigrations);
  const tables = await db.rows<{ name: string; isDurable: number; isMergedDurably: number }>({
    sql: `SELECT concat(database, '.', name) AS name, engine_full LIKE '%fsync_after_insert = 1%' AS isDurable,
        engine_full LIKE '%min_rows_to_fsync_after_merge = 1%' AS isMergedDurably
      FROM system.tables WHERE database IN ('sluice', 'records_only') ORDER BY name`,
  });
  t.ok(tables.length > 20);
  for (const { name, isDurable, isMergedDurably } of tables)
    t.equal(isMergedDurably === 1, isDurable === 1 || name === 'sluice.usage_days', name);
});

t.test('a store of this form is left as it is', async (t) => {
  t.strictSame(await migrate(db, 'sluice', migrations), []);
});
