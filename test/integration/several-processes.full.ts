/** What processes do at once when they start on one server, and on one data directory. */
import t from 'tap';
import { AccessTokens, hashToken } from '#auth/access-tokens.ts';
import { bootstrap } from '#auth/execute-token-order.ts';
import { openDeployment } from '#catalogue/deployment.ts';
import { migrate } from '#catalogue/migrate.ts';
import { migrations } from '#catalogue/migrations.ts';
import { Users } from '#catalogue/users.ts';
import type { Database } from '#engine/database.ts';
import { startFaultyClickhouse } from '../services/start-faulty-clickhouse.ts';
import { openTestClickhouse } from '../services/test-clickhouse.ts';

const server = await startFaultyClickhouse();
const processes: readonly Database[] = Array.from({ length: 4 }, () =>
  openTestClickhouse({ url: server.url }),
);
const [db] = processes as [Database, ...Database[]];
t.teardown(async () => {
  for (const each of processes) await each.close();
  await server.close();
});
const databases = Array.from({ length: 6 }, (_, i) => `store_${i}`);

t.test('migrations that run at once end as if one had run them', async (t) => {
  for (const database of databases) {
    await Promise.all(processes.map((each) => migrate(each, database, migrations)));
    t.strictSame(
      await db.rows({ sql: `SELECT version, name FROM ${database}.migrations FINAL ORDER BY version` }),
      migrations.map(({ version, name }) => ({ version, name })),
    );
    t.strictSame(await migrate(db, database, migrations), []);
  }
  const [{ tables } = { tables: [] }, ...others] = await db.rows<{ tables: string[] }>({
    sql: `SELECT DISTINCT groupArraySorted(1000)(concat(table, ' ', name, ' ', type)) AS tables FROM system.columns
     WHERE startsWith(database, 'store_') GROUP BY database`,
  });
  t.strictSame(others, [], 'all stores are alike');
  t.ok(tables.includes('record_spaces initial_records String'));
});

t.test('a database that is there is not made again, for which a user may lack the right', async (t) => {
  server.clear();
  await migrate(db, 'store_0', migrations);
  const statements = server.seen.map(({ statement }) => statement);
  t.ok(statements.length > 0);
  t.notOk(statements.some((statement) => statement.includes('CREATE DATABASE')));
});

t.test('the first account that several make at once is one account with one token', async (t) => {
  const token = 'a-token-that-all-are-told';
  for (const database of databases) {
    const deployment = await openDeployment({ db, database });
    const made = await Promise.all(
      processes.map((each) =>
        bootstrap({
          users: new Users({ db: each, database }),
          tokens: new AccessTokens({ db: each, database, deployment }),
          token,
        }),
      ),
    );
    t.ok(made.includes(token));
    const users = await db.rows<{ id: string }>({ sql: `SELECT DISTINCT id FROM ${database}.users` });
    t.equal(users.length, 1);
    const tokens = new AccessTokens({ db, database, deployment });
    t.match(await tokens.findByHash(hashToken(token)), { userId: users[0]?.id });
    t.equal((await tokens.list(users[0]?.id as string)).length, 1);
  }
});
