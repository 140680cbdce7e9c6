import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { exceededLimit } from '#engine/exceeded-limit.ts';
import { startClickhouse } from '../services/start-clickhouse.ts';
import { openTestClickhouse } from '../services/test-clickhouse.ts';

const dataDir = await mkdtemp(join(tmpdir(), 'sluice-served-'));
const server = await startClickhouse({ dataDir });
const db = openTestClickhouse({
  url: server.url,
  reads: { timeout: 1000, minRate: 16_384, minRatePeriod: 200 },
});
t.teardown(async () => {
  await db.close();
  await server.kill();
  await rm(dataDir, { recursive: true, force: true });
});

/** A statement that would take minutes. */
const endless = 'SELECT sum(cityHash64(number, toString(number))) AS s FROM numbers(60000000000)';

t.test('a read of a client that takes too long is a 503, and the server goes on', async (t) => {
  const late = { status: 503, code: 'deadline_exceeded' };
  const ended = (error: unknown) => t.match(error, late) && t.match(exceededLimit(error), { of: 'time' });
  await db.rows({ sql: endless, account: 'a' }).then(() => t.fail('it ended'), ended);
  await db.stream({ sql: endless, format: 'TSVRaw', account: 'a' }).then(() => t.fail('it began'), ended);
  t.strictSame(await db.rows({ sql: 'SELECT 1 AS one' }), [{ one: 1 }]);
});

t.test('the service is answered while clients read', async (t) => {
  const controller = new AbortController();
  const { signal } = controller;
  const reads = Array.from({ length: 6 }, (_, i) =>
    db.rows({ sql: endless, account: `reader ${i % 2}`, signal }).catch(() => 'ended'),
  );
  t.strictSame(await db.rows({ sql: 'SELECT 2 AS two' }), [{ two: 2 }]);
  controller.abort(new Error('gone'));
  t.strictSame(new Set(await Promise.all(reads)), new Set(['ended']));
});
