/** Bounds of the embedded engine's memory, by what the engine says of itself. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { engineArguments } from '#engine/engine-arguments.ts';
import { openChdb } from '#engine/open-chdb.ts';

const folder = await mkdtemp(join(tmpdir(), 'sluice-arguments-'));
const db = openChdb({ path: join(folder, 'chdb') });
t.teardown(async () => {
  await db.close();
  await rm(folder, { recursive: true, force: true });
});

t.test('the engine knows and keeps each bound', async (t) => {
  const rows = await db.rows<{ name: string; value: string }>({
    sql: 'SELECT name, value FROM system.server_settings WHERE changed',
  });
  const inForce = new Map(rows.map(({ name, value }) => [name, value]));
  for (const argument of engineArguments()) {
    const [name = '', value] = argument.slice('--'.length).split('=');
    t.equal(inForce.get(name), value, name);
  }
});

t.test('caches get a share of the memory, and never less than 64 MiB', async (t) => {
  const bytes = (memory: number) => engineArguments(memory).find((a) => a.startsWith('--mark_cache_size='));
  t.equal(bytes(1024 ** 3), `--mark_cache_size=${64 * 1024 ** 2}`);
  t.equal(bytes(32 * 1024 ** 3), `--mark_cache_size=${1024 ** 3}`);
});

t.test('threads that wide statements needed end with them', async (t) => {
  const wide = 'SELECT sum(number) AS n FROM numbers_mt(50000000) SETTINGS max_threads = 24';
  await Promise.all(Array.from({ length: 4 }, () => db.rows({ sql: wide })));
  const idle = async () => {
    const [row] = await db.rows<{ idle: number }>({
      sql: `SELECT sumIf(value, metric = 'GlobalThread') - sumIf(value, metric = 'GlobalThreadActive') AS idle
        FROM system.metrics`,
    });
    return row?.idle ?? Number.NaN;
  };
  // a thread ends when it finds that enough others are idle
  for (let i = 0; i < 100 && (await idle()) > 20; i++)
    await new Promise((resolve) => setTimeout(resolve, 50));
  const left = await idle();
  t.ok(left <= 20, `${left} idle threads`);
});
