import t from 'tap';
import { startClickhouse } from '../services/start-clickhouse.ts';
import { openTestClickhouse } from '../services/test-clickhouse.ts';
import { writePermitsSuite } from './write-permits.ts';

const login = { user: 'sluice', password: 'secret' };
const server = await startClickhouse(login);
const db = openTestClickhouse({ url: server.url, ...login });
t.teardown(async () => {
  await db.close();
  await server.close();
});

await writePermitsSuite(t, db);
