import t from 'tap';
import { openClickhouse } from '../../common/clickhouse/clickhouse-database.ts';
import { startChdbServer } from '../services/start-chdb-server.ts';
import { writePermitsSuite } from './write-permits.ts';

const login = { user: 'sluice', password: 'secret' };
const server = await startChdbServer(login);
const db = openClickhouse({ url: server.url, ...login });
t.teardown(async () => {
  await db.close();
  await server.close();
});

await writePermitsSuite(t, db);
