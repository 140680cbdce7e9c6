import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { Invalidation } from '#coordination/redis/invalidation.ts';
import { openRedis } from '#coordination/redis/open-redis.ts';
import type { RedisConnection } from '#coordination/redis/redis-connection.ts';
import { RedisInvalidation } from '#coordination/redis/redis-invalidation.ts';
import type { RedisConfig } from '#kernel/config/read-redis.ts';
import { openQueryHarness, type QueryAnswer } from '../services/query-harness.ts';
import { structureOf } from '../services/record-client.ts';
import { startRedis } from '../services/redis.ts';
import { silentLog } from '../services/silent-log.ts';
import { startTcpProxy } from '../services/tcp-proxy.ts';

const quick = { connect: 1000, command: 300, backoff: 50 };
const server = await startRedis();
const proxy = await startTcpProxy({ target: server.config });
const opened: { redis: RedisConnection; invalidation: Invalidation }[] = [];
async function openInvalidation(config: RedisConfig): Promise<void> {
  const log = silentLog();
  const redis = await openRedis(config, log, quick);
  opened.push({ redis, invalidation: new RedisInvalidation({ redis, log }) });
}
await openInvalidation(server.config);
// the second process reaches Redis over a line that can be cut
await openInvalidation({ ...server.config, port: proxy.port });
let routers = 0;
let statements = 0;
const harness = await openQueryHarness({
  singleWriter: false,
  invalidation: () => opened[routers++]?.invalidation,
  wrap: (db) => ({
    ...db,
    rows: (statement) => {
      if (statement.sql.includes('.record_spaces')) statements++;
      return db.rows(statement);
    },
  }),
});
const other = harness.another();
t.teardown(async () => {
  await harness.close();
  for (const { invalidation, redis } of opened) {
    await invalidation.close();
    await redis.close();
  }
  await server.stop();
  await proxy.close();
});
const settled = async (): Promise<void> => {
  while (!opened.every(({ invalidation }) => invalidation.isCurrent())) await sleep(10);
};

const structure = (slug: string, required: boolean): string =>
  structureOf('p', slug, [
    { name: 'must', type: 'TEXT', required },
    { name: 'n', type: 'NUMBER' },
  ]);
const preStored = { 'use-pre-stored-structure': 'true' };
const insertAtOther = (slug: string, body: object): Promise<QueryAnswer> =>
  other.call({ path: `/p/${slug}/_single_`, headers: preStored, body });
const findAtOther = (slug: string): Promise<QueryAnswer> =>
  other.call({ path: `/p/${slug}`, headers: preStored });

/** Switches a rule through the first process, when no record is in the way. */
async function setRequired(slug: string, required: boolean): Promise<void> {
  const path = `/p/${slug}`;
  await harness.call({ method: 'DELETE', path: `${path}/clear-records`, structure: structure(slug, false) });
  const body = JSON.parse(structure(slug, required));
  const { status } = await harness.call({ path: `${path}/set-structure`, body });
  if (status !== 200) throw new Error(`the change was answered ${status}`);
}

/** From a second after a change was acknowledged on, the other process goes by it. */
async function goesBy(slug: string, required: boolean, acknowledged: number): Promise<boolean> {
  const asked = performance.now();
  const { status } = await insertAtOther(slug, { n: 1 });
  const right = status === (required ? 400 : 200);
  if (![200, 400].includes(status)) throw new Error(`answered ${status}`);
  if (!right && asked > acknowledged + 1000) throw new Error('it goes by the older structure');
  return right;
}

t.test('what one process changes the other goes by, and asks the database once at most', async (t) => {
  await setRequired('pushed', false);
  await settled();
  for (let round = 0; round < 10; round++) {
    const required = round % 2 === 0;
    await setRequired('pushed', required);
    const acknowledged = performance.now();
    while (!(await goesBy('pushed', required, acknowledged))) await sleep(1);
  }
  await settled();
  await findAtOther('pushed');
  const before = statements;
  for (let i = 0; i < 50; i++) t.equal((await findAtOther('pushed')).status, 200);
  t.ok(statements - before <= 2, `${statements - before} looks`);
});

t.test('requests that may not go by what is known share their looks', async (t) => {
  await setRequired('shared', false);
  await findAtOther('shared');
  await server.kill();
  await findAtOther('shared');
  while (opened.some(({ invalidation }) => invalidation.isCurrent())) await sleep(10);
  const before = statements;
  const answers = await Promise.all(Array.from({ length: 300 }, () => findAtOther('shared')));
  t.ok(answers.every(({ status }) => status === 200));
  t.ok(statements - before <= 10, `${statements - before} looks for 300 requests`);
  await server.start();
  await settled();
});

async function underLoad(
  t: Test,
  slug: string,
  outage: { begin: () => unknown; end: () => unknown },
): Promise<void> {
  await setRequired(slug, false);
  await settled();
  const counts = { finds: 0, failed: 0, changes: 0, inserts: 0 };
  let stop = false;
  const load = Array.from({ length: 4 }, async () => {
    while (!stop) {
      const { status } = await findAtOther(slug);
      if (status === 200) counts.finds++;
      else counts.failed++;
      await sleep(2);
    }
  });
  let required = false;
  const change = async (): Promise<void> => {
    required = !required;
    await setRequired(slug, required);
    counts.changes++;
    const acknowledged = performance.now();
    while (!(await goesBy(slug, required, acknowledged))) {
      counts.inserts++;
      await sleep(5);
    }
  };
  await change();
  await outage.begin();
  for (let i = 0; i < 4; i++) await change();
  await outage.end();
  for (let i = 0; i < 2; i++) await change();
  stop = true;
  await Promise.all(load);
  await settled();
  t.equal(counts.failed, 0);
  t.comment(`${slug}: ${JSON.stringify(counts)}`);
}

t.test('under load, whatever Redis does', async (t) => {
  const freeze = (frozen: boolean) => (): void => {
    for (const direction of ['toClient', 'toTarget'] as const) proxy.set(direction, { frozen });
  };
  const full = {
    begin: () => server.command('CONFIG', 'SET', 'maxmemory', 1),
    end: () => server.command('CONFIG', 'SET', 'maxmemory', 0),
  };
  await underLoad(t, 'killed', { begin: server.kill, end: server.start });
  await underLoad(t, 'stopped', { begin: server.pause, end: server.resume });
  await underLoad(t, 'one-cut-off', { begin: freeze(true), end: freeze(false) });
  await underLoad(t, 'slow', {
    begin: () => proxy.set('toClient', { delayMs: 250 }),
    end: () => proxy.set('toClient', { delayMs: 0 }),
  });
  await underLoad(t, 'flushed', { begin: () => server.command('FLUSHALL'), end: () => {} });
  await underLoad(t, 'full', full);
});

t.test('rules that were set hold in every process when the answer comes', async (t) => {
  await harness.call({ path: '/p/ruled', structure: structure('ruled', false), body: [{ n: 1 }, { n: 2 }] });
  const setRules = (rules: unknown) =>
    harness.call({ method: 'PUT', path: '/_projects_/p/spaces/ruled/rules', body: rules });
  const page = { 'test-grants': JSON.stringify({ publishable: true, origins: ['*'] }) };
  const seen = async () => (await other.call({ path: '/p/ruled', headers: page })).body?.length ?? null;
  await settled();
  for (let round = 0; round < 3; round++) {
    await setRules({ find: { n: 1 } });
    t.equal(await seen(), 1);
    await setRules({ find: true });
    t.equal(await seen(), 2);
    await setRules(null);
    t.equal(await seen(), null);
  }
});
