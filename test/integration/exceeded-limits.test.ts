/** Which limit of a statement ended it is read from the engine's message, embedded and over HTTP. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { Database } from '#engine/database.ts';
import { exceededLimit } from '#engine/exceeded-limit.ts';
import { openChdb } from '#engine/open-chdb.ts';
import { startClickhouse } from '../services/start-clickhouse.ts';
import { openTestClickhouse } from '../services/test-clickhouse.ts';

const groups = `SELECT number AS g, quantileExact(0.5)(number) AS q FROM numbers(1000000) GROUP BY g ORDER BY g LIMIT 5 SETTINGS`;
const cases = [
  [
    `${groups} max_rows_to_group_by = 100, group_by_overflow_mode = 'throw'`,
    { of: 'groups', found: /^\d{3,}$/, most: '100' },
  ],
  [`${groups} max_memory_usage = 8000000`, { of: 'memory', found: /MiB$/, most: '7.63 MiB' }],
  [
    `SELECT repeat('x', 1000) AS x FROM numbers(1000) SETTINGS max_result_bytes = 1000, result_overflow_mode = 'throw'`,
    { of: 'answer', found: /B$/, most: '1000 B' },
  ],
  [
    `SELECT count() FROM numbers(1000000) SETTINGS max_rows_to_read = 10`,
    { of: 'rows', found: '1 million', most: '10' },
  ],
  [
    'SELECT sum(cityHash64(number)) FROM numbers(100000000000) SETTINGS max_execution_time = 0.1',
    { of: 'time', found: null, most: null },
  ],
  ['SELECT nothing', null],
] as const;

async function check(t: Test, db: Database): Promise<void> {
  for (const [sql, limit] of cases) {
    const error: unknown = await db.rows({ sql, account: 'a' }).catch((error: unknown) => error);
    t.match(exceededLimit(error), limit, `${error}`);
  }
}

t.test('embedded', async (t) => {
  const root = await mkdtemp(join(tmpdir(), 'sluice-limits-'));
  const db = openChdb({ path: join(root, 'chdb') });
  t.teardown(async () => {
    await db.close();
    await rm(root, { recursive: true, force: true });
  });
  await check(t, db);
});

t.test('over HTTP', async (t) => {
  const server = await startClickhouse();
  const db = openTestClickhouse({ url: server.url });
  t.teardown(async () => {
    await db.close();
    await server.close();
  });
  await check(t, db);
});
