import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { openRedis } from '#coordination/redis/open-redis.ts';
import { digestOf, ReservationStore } from '#records/unique/reservation-store.ts';
import { startRedis } from '../services/redis.ts';
import { rejectionOf } from '../services/rejection-of.ts';
import { silentLog } from '../services/silent-log.ts';

const long = 3_600_000;
/** Long enough for some commands on a busy machine. */
const short = 1000;
const server = await startRedis();
const redis = await openRedis(server.config, silentLog());
t.teardown(async () => {
  await redis.close();
  await server.stop();
});

const key = 'store:{x}';
const withLease = (lease: number): ReservationStore => new ReservationStore({ redis, lease, key });
const store = withLease(long);
const claim = (session: string, write: number, ...keys: string[]) => ({
  session,
  write,
  digests: keys.map(digestOf),
});
/** What the store holds, by the first letter of the field. */
async function fields(kind: string): Promise<readonly string[]> {
  const flat = (await server.command('HGETALL', key)) as string[];
  return flat.filter((text, i) => i % 2 === 0 && text.startsWith(kind)).sort();
}
async function openNow(...sessions: string[]): Promise<void> {
  await server.command('DEL', key);
  for (const session of sessions) {
    const { began, epoch } = await store.open(session);
    if (began) await store.openEarly(epoch);
  }
}
/** Until a connection that was cut is back. */
async function connected(): Promise<void> {
  while ((await redis.run({ source: 'return 1', sha1: 'x'.repeat(40) }, [], []).catch(() => 0)) !== 1) {
    await sleep(10);
  }
}

t.test('the first session begins an epoch, which gives nothing yet', async (t) => {
  await server.command('DEL', key);
  t.strictSame(await store.reserve(claim('A', 1, 'a')), { kind: 'lost' });
  t.same(await fields(''), [], 'and leaves nothing in a store that is not open');
  const first = await store.open('A');
  t.equal(first.began, true);
  t.match(await store.reserve(claim('A', 1, 'a')), { kind: 'closed' });
  const second = await store.open('B');
  t.strictSame(second, { began: false, epoch: first.epoch });
  await store.openEarly(`${first.epoch}x`);
  t.match(await store.reserve(claim('A', 1, 'a')), { kind: 'closed' }, 'another epoch is meant');
  t.same(await fields('k'), []);
  await store.openEarly(first.epoch);
  t.strictSame(await store.reserve(claim('A', 1, 'a')), { kind: 'taken' });
  t.strictSame(await store.reserve(claim('B', 1, 'a')), { kind: 'held', digest: digestOf('a') });
});

t.test('an epoch opens by itself after one lease', async (t) => {
  await server.command('DEL', key);
  await withLease(short).open('A');
  // its session ends then too
  t.equal((await store.open('B')).began, false);
  for (;;) {
    const answer = await store.reserve(claim('B', 1, 'a'));
    if (answer.kind === 'taken') break;
    t.equal(answer.kind, 'closed');
    await sleep(5);
  }
});

t.test('all or none, also over several chunks', async (t) => {
  await openNow('A', 'B');
  const names = Array.from({ length: 4001 }, (_, i) => `v${i}`);
  t.match(await store.reserve(claim('A', 1, 'v4000')), { kind: 'taken' });
  t.strictSame(await store.reserve(claim('B', 1, ...names)), { kind: 'held', digest: digestOf('v4000') });
  t.equal((await fields('k')).length, 1);
  t.ok(await store.isFree(digestOf('v0')));
  t.notOk(await store.isFree(digestOf('v4000')));
  await store.release(claim('A', 1, 'v4000'));
  t.match(await store.reserve(claim('B', 2, ...names)), { kind: 'taken' });
  t.equal((await fields('k')).length, 4001);
  t.notOk(await store.isFree(digestOf('v0')));
  await store.release(claim('B', 2, ...names));
  t.equal((await fields('k')).length, 0);
});

t.test('another write of the same session waits as well, and gives back only what is its own', async (t) => {
  await openNow('A');
  t.match(await store.reserve(claim('A', 1, 'a', 'b')), { kind: 'taken' });
  t.match(await store.reserve(claim('A', 2, 'c', 'b')), { kind: 'held' });
  await store.release(claim('A', 2, 'a', 'b', 'c'));
  t.equal((await fields('k')).length, 2);
  await store.release(claim('A', 1, 'a', 'b', 'never reserved'));
  t.match(await store.reserve(claim('A', 2, 'c', 'b')), { kind: 'taken' });
});

t.test('a session that ends gives back everything', async (t) => {
  await openNow('A', 'B');
  t.match(await store.reserve(claim('A', 1, 'a')), { kind: 'taken' });
  await store.end(['A']);
  t.ok(await store.isFree(digestOf('a')));
  t.strictSame(await store.reserve(claim('A', 2, 'z')), { kind: 'lost' });
  t.strictSame(await store.renew(['A', 'B', 'never opened']), [false, true, false]);
  t.match(await store.reserve(claim('B', 1, 'a')), { kind: 'taken' });
});

t.test('a session that is not renewed is over, is taken over, and never comes back', async (t) => {
  await openNow('B');
  await withLease(short).open('A');
  t.match(await store.reserve(claim('A', 1, 'a')), { kind: 'taken' });
  while ((await store.reserve(claim('B', 1, 'a'))).kind !== 'taken') await sleep(5);
  t.strictSame(await store.renew(['A', 'B']), [false, true]);
  t.strictSame(await store.reserve(claim('A', 2, 'b')), { kind: 'lost' });
  t.strictSame(await fields('s'), ['sB'], 'whatever the clock says later');
});

t.test('a renewed session goes on', async (t) => {
  await openNow('B');
  await withLease(short).open('A');
  t.match(await store.reserve(claim('A', 1, 'a')), { kind: 'taken' });
  t.strictSame(await store.renew(['A']), [true]);
  await sleep(short + 100);
  t.match(await store.reserve(claim('B', 1, 'a')), { kind: 'held' });
});

t.test('what processes left that died is swept, and nothing else', async (t) => {
  await openNow('B');
  await withLease(short).open('A');
  const left = Array.from({ length: 3000 }, (_, i) => `left ${i}`);
  t.match(await store.reserve(claim('A', 1, ...left)), { kind: 'taken' });
  t.match(await store.reserve(claim('B', 1, 'mine')), { kind: 'taken' });
  while (!(await store.isFree(digestOf('left 0')))) await sleep(20);
  let cursor = '0';
  do cursor = await store.sweep(cursor);
  while (cursor !== '0' || (await fields('k')).length > 1);
  t.strictSame(await fields('k'), [`k${digestOf('mine')}`]);
  t.strictSame(await fields('s'), ['sB']);
});

for (const [how, lose] of [
  ['flushed', () => server.command('FLUSHALL')],
  ['evicted', () => server.command('DEL', key)],
  [
    'restarted empty',
    async () => {
      await server.kill();
      await server.start();
      await connected();
    },
  ],
  [
    // a snapshot lacks what came after it
    'restarted with an old snapshot',
    async () => {
      await server.command('SAVE');
      await store.reserve(claim('A', 2, 'after the snapshot'));
      await server.kill();
      await server.start();
      await connected();
    },
  ],
] as const) {
  t.test(`${how}: reservations are lost, sessions end, and a new epoch begins`, async (t) => {
    await openNow('A');
    t.match(await store.reserve(claim('A', 1, 'a')), { kind: 'taken' });
    await lose();
    t.strictSame(await store.reserve(claim('A', 3, 'b')), { kind: 'lost' });
    t.strictSame(await store.renew(['A']), [false]);
    t.equal((await store.open('B')).began, true);
    t.strictSame(await store.renew(['A']), [false]);
    t.match(await store.reserve(claim('B', 1, 'a')), { kind: 'closed' });
    t.strictSame(await fields('s'), ['sB']);
    t.strictSame(await fields('k'), []);
  });
}

t.test('no memory left: refused as a whole, and what is held can be given back', async (t) => {
  await openNow('A');
  t.match(await store.reserve(claim('A', 1, 'a')), { kind: 'taken' });
  await server.command('CONFIG', 'SET', 'maxmemory', 1);
  t.teardown(() => server.command('CONFIG', 'SET', 'maxmemory', 0));
  const names = Array.from({ length: 5000 }, (_, i) => `oom ${i}`);
  t.match(await rejectionOf(store.reserve(claim('A', 2, ...names))), { mayHaveRun: false, message: /^OOM/ });
  t.strictSame(await fields('k'), [`k${digestOf('a')}`]);
  t.match(await rejectionOf(store.renew(['A'])), { mayHaveRun: false });
  await store.release(claim('A', 1, 'a'));
  t.strictSame(await fields('k'), []);
});

t.test('a replica refuses', async (t) => {
  await openNow('A');
  await server.command('REPLICAOF', '127.0.0.1', 1);
  t.teardown(() => server.command('REPLICAOF', 'NO', 'ONE'));
  t.match(await rejectionOf(store.reserve(claim('A', 2, 'a'))), { mayHaveRun: false, message: /READONLY/ });
  await connected();
});

t.test('nothing of a value can be read in Redis', async (t) => {
  await openNow('A');
  await store.reserve(claim('A', 1, 'space:email:vann@example.com'));
  t.match(await fields('k'), [/^k[A-Za-z0-9+/]{24}$/]);
});

t.test('on a Redis Cluster the scripts run as they are', async (t) => {
  const node = await startRedis({ args: ['--cluster-enabled', 'yes'] });
  await node.command('CLUSTER', 'ADDSLOTSRANGE', 0, 16383);
  while (!/cluster_state:ok/.test(String(await node.command('CLUSTER', 'INFO')))) await sleep(20);
  const connection = await openRedis(node.config, silentLog());
  t.teardown(async () => {
    await connection.close();
    await node.stop();
  });
  const cluster = new ReservationStore({ redis: connection, lease: long });
  const { epoch } = await cluster.open('A');
  await cluster.openEarly(epoch);
  await cluster.open('B');
  t.strictSame(await cluster.reserve(claim('A', 1, 'a', 'b')), { kind: 'taken' });
  t.match(await cluster.reserve(claim('B', 1, 'b')), { kind: 'held' });
  t.strictSame(await cluster.renew(['A', 'B']), [true, true]);
  t.equal(await cluster.sweep('0'), '0');
  t.notOk(await cluster.isFree(digestOf('a')));
  await cluster.release(claim('A', 1, 'a', 'b'));
  await cluster.end(['A']);
  t.strictSame(await cluster.reserve(claim('B', 2, 'b')), { kind: 'taken' });
});

t.test('a user who may not ask for the run id reserves nothing', async (t) => {
  await server.command('ACL', 'SETUSER', 'ann', 'on', '>hunter2', '~*', '+@all', '-info');
  const log = silentLog();
  const connection = await openRedis({ ...server.config, username: 'ann', password: 'hunter2' }, log);
  t.teardown(() => connection.close());
  const limited = new ReservationStore({ redis: connection, lease: long, key });
  t.match(await rejectionOf(limited.open('A')), { name: 'RedisFailure' });
  t.ok(log.failures.length > 0);
});
