import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { openRedis } from '#coordination/redis/open-redis.ts';
import type { RedisConnection } from '#coordination/redis/redis-connection.ts';
import { TableCatalogue } from '#query/space/table-catalogue.ts';
import type { LeaseTimes } from '#records/unique/lease-sessions.ts';
import { RedisReservations } from '#records/unique/redis-reservations.ts';
import type { UniqueReservations } from '#records/unique/unique-reservations.ts';
import { openQueryHarness, type QueryAnswer, spaceOf, testDatabase } from '../services/query-harness.ts';
import { type FieldInput, fieldsOf, structureOf } from '../services/record-client.ts';
import { startRedis } from '../services/redis.ts';
import { silentLog } from '../services/silent-log.ts';
import { startTcpProxy } from '../services/tcp-proxy.ts';

/** Requests that run at once in an outage, and what must come of them before and after it. */
const workers = Number(process.env.UNIQUE_TEST_WORKERS ?? 16);
const rounds = Number(process.env.UNIQUE_TEST_ROUNDS ?? 20);
/** Short enough to wait for, and long enough for an INSERT on a busy machine. */
const times: LeaseTimes = { lease: 3000, margin: 200, writeTime: 1500, renewEvery: 250 };

const server = await startRedis();
const log = silentLog();
/** Makes Redis slow. */
const proxy = await startTcpProxy({ target: server.config });
const connections: RedisConnection[] = [];
for (let i = 0; i < 2; i++) connections.push(await openRedis({ ...server.config, port: proxy.port }, log));
const opened: UniqueReservations[] = [];
const harness = await openQueryHarness({
  singleWriter: false,
  reservations: () => {
    const redis = connections[opened.length] as RedisConnection;
    const everUsed = async (signal: AbortSignal): Promise<boolean> =>
      !(await new TableCatalogue({ db: harness.db, database: testDatabase }).isEmpty(signal));
    const reservations = new RedisReservations({ redis, log, times, everUsed });
    opened.push(reservations);
    return reservations;
  },
});
const other = harness.another();
t.teardown(async () => {
  await Promise.all(opened.map((reservations) => reservations.close()));
  await Promise.all(connections.map((connection) => connection.close()));
  await harness.close();
  await server.stop();
  for (const connection of proxy.connections()) connection.cut('rst');
  await proxy.close();
});

const users: FieldInput[] = fieldsOf('email TEXT unique, code NUMBER unique, other TEXT');
/** A space as two processes see it. */
function bothOf(slug: string, fields: readonly FieldInput[] = users) {
  const structure = structureOf('u', slug, fields);
  return [spaceOf(harness, 'u', slug, structure), spaceOf(other, 'u', slug, structure)] as const;
}
const count = (answers: readonly QueryAnswer[], status: number): number =>
  answers.filter((answer) => answer.status === status).length;

t.test('of 200 equal inserts at once, from both, exactly one is stored', async (t) => {
  const both = bothOf('race');
  await both[0].find();
  const insert = (_: unknown, i: number) => (both[i % 2] ?? both[0]).insertOne({ email: 'a@x', code: i });
  const answers = await Promise.all(Array.from({ length: 200 }, insert));
  t.equal(count(answers, 200), 1);
  t.equal(count(answers, 400), 199);
  for (const { status, code, problems } of answers) {
    if (status === 400) t.match({ code, problems }, { code: 'not_unique', problems: [/'email'/] });
  }
  t.equal((await both[1].find()).body.length, 1);
});

t.test('overlapping batches from both: all or nothing, every value once', async (t) => {
  const both = bothOf('batches');
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, i) =>
      (both[i % 2] ?? both[0]).insert(
        Array.from({ length: 10 }, (_, j) => ({ email: `v${(i * 5 + j) % 100}`, other: `b${i}` })),
      ),
    ),
  );
  const { body } = await both[0].find();
  t.equal(body.length, count(answers, 200) * 10);
  t.equal(count(answers, 200) + count(answers, 400), 60);
  t.ok(count(answers, 200) > 0);
  t.equal(new Set(body.map(({ email }: { email: string }) => email)).size, body.length);
});

t.test('updates onto one value from both, and an insert of it', async (t) => {
  const both = bothOf('updates');
  const { body: records } = await both[0].insert(Array.from({ length: 40 }, (_, i) => ({ email: `v${i}` })));
  const answers = await Promise.all([
    ...records.map(({ id }: { id: string }, i: number) =>
      (both[i % 2] ?? both[0]).updateOneById(id, { email: 'wanted', other: `${i}` }),
    ),
    both[1].insertOne({ email: 'wanted' }),
  ]);
  t.equal(count(answers, 200), 1);
  t.equal(count(answers, 400), 40);
  t.equal((await both[0].find([['email', 'wanted']])).body.length, 1);
  // the value it has may be set again, from wherever
  const [holder] = (await both[1].find([['email', 'wanted']])).body;
  const again = await Promise.all(both.map((space) => space.updateOneById(holder.id, { email: 'wanted' })));
  t.equal(count(again, 200), 2);
});

t.test('first calls of setKeys at both make one record with all keys', async (t) => {
  const fields = Array.from({ length: 8 }, (_, i) => ({ name: `k${i}`, type: 'TEXT' }));
  for (let round = 0; round < 10; round++) {
    const both = bothOf(`keys-${round}`, fields);
    for (const space of both) t.equal((await space.getKeys()).body, null);
    const set = ({ name }: FieldInput, i: number) =>
      (both[i % 2] ?? both[0]).setKeys({ [name]: `v-${name}` });
    const answers = await Promise.all(fields.map(set));
    t.equal(count(answers, 200), 8);
    t.equal(new Set(answers.map(({ body }) => body.id)).size, 1);
    const { body } = await both[round % 2 === 0 ? 0 : 1].find();
    t.equal(body.length, 1);
    for (const { name } of fields) t.equal(body[0][name], `v-${name}`);
  }
});

const jobs: FieldInput[] = fieldsOf('state TEXT, by NUMBER');

t.test('of updates at both that take the next record no two get the same', async (t) => {
  const both = bothOf('jobs', jobs);
  await both[0].insert(Array.from({ length: 20 }, () => ({ state: 'free' })));
  const take = (_: unknown, i: number) =>
    (both[i % 2] ?? both[0]).updateOne([['state', 'free']], { state: 'taken', by: i });
  const answers = await Promise.all(Array.from({ length: 30 }, take));
  t.equal(count(answers, 200), 20);
  const taken = answers.filter(({ status }) => status === 200).map(({ body }) => body.id);
  t.equal(new Set(taken).size, 20);
  for (const { status, code } of answers) if (status !== 200) t.match({ status, code }, { code: 'no_match' });
});

t.test('a record that both delete is deleted by one', async (t) => {
  const both = bothOf('deleted', jobs);
  const { body: records } = await both[0].insert(Array.from({ length: 20 }, () => ({ state: 'free' })));
  const answers = await Promise.all(
    records.flatMap(({ id }: { id: string }) => both.map((space) => space.deleteOneById(id))),
  );
  t.equal(count(answers, 200), 20);
  t.equal(count(answers, 400), 20);
});

t.test('a value that is free again is free in both', async (t) => {
  const both = bothOf('again');
  for (let i = 0; i < 5; i++) {
    const [here, there] = i % 2 === 0 ? both : [both[1], both[0]];
    const { body, status } = await here.insertOne({ email: 'a' });
    t.equal(status, 200);
    t.equal((await there.insertOne({ email: 'a' })).code, 'not_unique');
    t.equal((await there.deleteOneById(body.id)).status, 200);
  }
});

/**
 * Breaks Redis while both insert the same values, and mends it: nothing but 200, 400 and 503 is ever answered, what
 * needs no reservation goes on throughout, and no value is there twice.
 */
async function underLoad(
  t: Test,
  slug: string,
  outage: {
    begin: () => unknown;
    /** Whether a 503 is one of the outage; absent: there is to be none. */
    seen?: (answer: QueryAnswer) => boolean;
    end: () => unknown;
  },
): Promise<void> {
  const both = bothOf(slug);
  const plain = bothOf(`${slug}-plain`, fieldsOf('n NUMBER'));
  // the outage of the test before may last for a moment
  for (;;) {
    const { status } = await both[0].insertOne({ email: 'first' });
    if (status === 200) break;
    if (status !== 503) throw new Error(`the first record: ${status}`);
    await sleep(50);
  }
  t.equal((await plain[0].insertOne({ n: 0 })).status, 200);
  const unexpected: QueryAnswer[] = [];
  let attempts = 0;
  let stored = 1;
  let refused = 0;
  let outages = 0;
  let plainStored = 1;
  let stop = false;

  const load = Array.from({ length: workers }, async (_, worker) => {
    while (!stop) {
      // four requests want each value, two of each process
      const email = `v${Math.floor(attempts++ / 4)}`;
      const answer = await (both[worker % 2] ?? both[0]).insertOne({ email });
      if (answer.status === 200) stored++;
      else if (answer.code === 'not_unique') refused++;
      else if (answer.status === 503 && outage.seen?.(answer)) {
        outages++;
        await sleep(10);
      } else unexpected.push(answer);
    }
  });
  const beside = (async () => {
    while (!stop) {
      const space = plain[plainStored % 2] ?? plain[0];
      const inserted = await space.insertOne({ n: plainStored });
      if (inserted.status !== 200) unexpected.push(inserted);
      else plainStored++;
      // what needs no reservation does without
      const updated = await space.updateOne([['n', String(plainStored - 1)]], { n: plainStored - 1 });
      if (updated.status !== 200) unexpected.push(updated);
      const found = await (both[plainStored % 2] ?? both[0]).find([['email', 'first']]);
      if (found.status !== 200 || found.body.length !== 1) unexpected.push(found);
    }
  })();
  const until = async (done: () => boolean): Promise<void> => {
    while (!done() && unexpected.length === 0) await sleep(5);
  };

  await until(() => stored > rounds);
  await outage.begin();
  const storedInOutage = stored;
  await until(() => (outage.seen === undefined ? stored > storedInOutage + rounds : outages > 0));
  const plainBefore = plainStored;
  await until(() => plainStored > plainBefore + 3);
  await outage.end();
  const storedBefore = stored;
  await until(() => stored > storedBefore + rounds);
  stop = true;
  await Promise.all([...load, beside]);

  t.strictSame(unexpected, []);
  t.ok(refused > 0);
  const { body } = await both[0].find();
  t.equal(body.length, stored, 'what was acknowledged, and no more');
  t.equal(new Set(body.map(({ email }: { email: string }) => email)).size, stored, 'every value once');
  t.equal((await plain[1].find()).body.length, plainStored);
  t.comment(`${slug}: ${stored} stored, ${refused} refused, ${outages} times 503, ${plainStored} beside`);
}

t.test('Redis is killed and comes back empty', async (t) => {
  await underLoad(t, 'killed', {
    begin: server.kill,
    seen: () => true,
    end: server.start,
  });
});

t.test('Redis is restarted at once, and empty', async (t) => {
  await underLoad(t, 'restarted', {
    begin: async () => {
      await server.kill();
      await server.start();
    },
    seen: () => true,
    end: () => {},
  });
});

t.test('Redis is stopped and goes on', async (t) => {
  await underLoad(t, 'stalled', { begin: server.pause, seen: () => true, end: server.resume });
});

const delay = (delayMs: number): void => {
  for (const direction of ['toTarget', 'toClient'] as const) proxy.set(direction, { delayMs });
};

t.test('Redis is slow', async (t) => {
  await underLoad(t, 'slow', { begin: () => delay(50), end: () => delay(0) });
});

t.test('Redis is slower than it may be', async (t) => {
  await underLoad(t, 'slower', { begin: () => delay(1500), seen: () => true, end: () => delay(0) });
});

t.test('Redis has no memory left', async (t) => {
  await underLoad(t, 'memory', {
    begin: () => server.command('CONFIG', 'SET', 'maxmemory', 1),
    seen: ({ code }) => code === 'unavailable',
    end: () => server.command('CONFIG', 'SET', 'maxmemory', 0),
  });
});

t.test('Redis forgets everything, again and again', async (t) => {
  const both = bothOf('flushed');
  await both[0].find();
  const answers: QueryAnswer[] = [];
  for (let round = 0; round < 3; round++) {
    const wave = Array.from({ length: 40 }, async (_, i) => {
      if (i === 20) await server.command('FLUSHALL');
      answers.push(await (both[i % 2] ?? both[0]).insertOne({ email: `${round}:${i % 5}` }));
    });
    await Promise.all(wave);
  }
  const { body } = await both[1].find();
  t.equal(body.length, count(answers, 200));
  t.equal(new Set(body.map(({ email }: { email: string }) => email)).size, body.length);
  t.ok(body.length > 0);
  t.equal(count(answers, 200) + count(answers, 400) + count(answers, 503), answers.length);
});

t.test('of 100 upserts of one value by two processes one makes the record', async (t) => {
  const both = bothOf('upserts');
  const headers = { options: '{"onConflict":{"field":"email","do":"update"}}' };
  const one = (_: unknown, code: number) => both[code % 2]?.insertOne({ email: 'a@x', code }, headers);
  const answers = await Promise.all(Array.from({ length: 100 }, one));
  t.ok(answers.every((answer) => answer?.status === 200));
  t.equal(new Set(answers.map((answer) => answer?.body.id)).size, 1);
  t.equal((await both[0].find()).body.length, 1);
});

t.test('of changes of many records by two processes none takes what another has', async (t) => {
  const both = bothOf('jobs');
  await both[0].insert(Array.from({ length: 50 }, () => ({ other: 'free' })));
  const structure = structureOf('u', 'jobs', users);
  const body = { where: { other: 'free' }, set: { other: 'taken' } };
  const many = (at: number) =>
    (at % 2 === 0 ? harness : other).call({ path: '/u/jobs/_update_', structure, body });
  const singles = both.flatMap((each) =>
    [1, 2, 3].map(() => each.updateOne('other=free', { other: 'single' })),
  );
  const [answers, taken] = await Promise.all([Promise.all([0, 1, 2, 3].map(many)), Promise.all(singles)]);
  const updated = answers.reduce((sum, answer) => sum + answer.body.updated, 0);
  t.equal(updated + count(taken, 200), 50);
});
