/** A served engine as a `Database`, over HTTP. */
import t from 'tap';
import { startClickhouse } from '../services/start-clickhouse.ts';
import { openTestClickhouse } from '../services/test-clickhouse.ts';
import { databaseContract } from './database-contract.ts';

const login = { user: 'sluice', password: 'p:ä&%"' };
const server = await startClickhouse(login);
t.teardown(() => server.close());

databaseContract(t, async (t) => {
  const db = openTestClickhouse({ url: server.url, ...login });
  t.teardown(() => db.close());
  await db.command({ sql: 'DROP DATABASE IF EXISTS contract' });
  return db;
});
