import { setMaxListeners } from 'node:events';
import t from 'tap';
import { openRedis } from '#coordination/redis/open-redis.ts';
import { RedisReservations } from '#records/unique/redis-reservations.ts';
import type { UniqueReservations } from '#records/unique/unique-reservations.ts';
import { startRedis } from '../services/redis.ts';
import { silentLog } from '../services/silent-log.ts';
import { aMoment, taken, uniqueReservationsSuite } from '../services/unique-reservations-suite.ts';

const server = await startRedis();
const log = silentLog();
const connections = await Promise.all([openRedis(server.config, log), openRedis(server.config, log)]);
const opened: UniqueReservations[] = [];
let made = 0;
const idle = new AbortController().signal;
setMaxListeners(0, idle);
t.teardown(async () => {
  await Promise.all(opened.map((reservations) => reservations.close()));
  for (const connection of connections) await connection.close();
  await server.stop();
});

/** Two processes with a store of their own, which gives at once. */
async function openBoth(limits: { waitLimit?: number; keyLimit?: number; requestLimit?: number } = {}) {
  const reservationsKey = `store:${++made}`;
  const everUsed = async (): Promise<boolean> => false;
  // the first to come opens it, for which others wait longer than some of these limits
  const first = new RedisReservations({ redis: connections[0], log, everUsed, reservationsKey });
  await taken(await first.reserve(['first'], idle)).settle([]);
  await first.close();
  const [one, other] = connections;
  const both: [UniqueReservations, UniqueReservations] = [
    new RedisReservations({ redis: one, log, everUsed, reservationsKey, ...limits }),
    new RedisReservations({ redis: other, log, everUsed, reservationsKey, ...limits }),
  ];
  opened.push(...both);
  return both;
}

t.test('in one process', async (t) => {
  uniqueReservationsSuite(t, async (limits) => (await openBoth(limits))[0]);
});

t.test('between two processes: all or none, in whatever order', async (t) => {
  const [a, b] = await openBoth();
  const first = taken(await a.reserve(['1', '2'], idle));
  let done = false;
  const second = b.reserve(['3', '2', '1'], idle).finally(() => {
    done = true;
  });
  await aMoment();
  t.equal(done, false, 'it waits');
  for (const process of [a, b]) {
    await taken(await process.reserve(['3'], idle)).settle([]);
  }
  await first.settle(['1']);
  // the table tells whether the value is stored
  const next = taken(await second);
  await next.settle([]);
});

t.test('between two processes: of many at once one is inside', async (t) => {
  const both = await openBoth();
  let inside = 0;
  let entered = 0;
  await Promise.all(
    Array.from({ length: 200 }, async (_, i) => {
      const keys = i % 3 === 0 ? ['a', 'b'] : ['b', `own ${i}`, 'a'];
      const result = await both[i % 2 ? 0 : 1].reserve(keys, idle);
      const reservation = taken(result);
      t.equal(++inside, 1, 'alone');
      entered++;
      await new Promise((resolve) => setImmediate(resolve));
      reservation.permit?.check();
      inside--;
      await reservation.settle([]);
    }),
  );
  t.equal(entered, 200);
});

t.test('between two processes: waiting ends with the request, or after a while with 503', async (t) => {
  const [a, b] = await openBoth({ waitLimit: 500 });
  const holder = taken(await a.reserve(['a'], idle));
  const gone = new AbortController();
  const waiting = t.rejects(b.reserve(['b', 'a'], gone.signal), { message: 'client gone' });
  await aMoment();
  gone.abort(new Error('client gone'));
  await waiting;
  await t.rejects(b.reserve(['b', 'a'], idle), { code: 'overloaded', status: 503 });
  await taken(await a.reserve(['b'], idle)).settle([]);
  await holder.settle([]);
  await taken(await b.reserve(['b', 'a'], idle)).settle([]);
});

t.test('a request that is aborted while Redis is asked leaves nothing behind', async () => {
  const [a, b] = await openBoth();
  const gone = new AbortController();
  const asked = a.reserve(['a'], gone.signal);
  gone.abort(new Error('client gone'));
  await asked.catch(() => {});
  await taken(await b.reserve(['a'], idle)).settle([]);
});

t.test('a request has a bounded number of values', async (t) => {
  const [a] = await openBoth({ requestLimit: 3 });
  await t.rejects(a.reserve(['1', '2', '3', '4'], idle), { status: 400, code: 'invalid_body', message: /3/ });
  await taken(await a.reserve(['1', '2', '3'], idle)).settle([]);
});

t.test('the largest request', async (t) => {
  const [a, b] = await openBoth();
  const keys = Array.from({ length: 50_000 }, (_, i) => `value ${i}`);
  const all = taken(await a.reserve(keys, idle));
  const last = b.reserve([keys.at(-1) as string], idle);
  await aMoment();
  await all.settle([]);
  await taken(await last).settle([]);
  await t.resolves(b.reserve(keys, idle));
});

t.test('what ends in good order is free at once', async (t) => {
  const [a, b] = await openBoth();
  const held = taken(await a.reserve(['a'], idle));
  const next = b.reserve(['a', 'b'], idle);
  const closed = a.close();
  await held.settle([]);
  await closed;
  taken(await next);
  t.strictSame(log.failures, []);
});
