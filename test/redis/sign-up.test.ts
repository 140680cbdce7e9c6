/** Sign-up in two processes with Redis: one token is used once, one address is one user, limits are shared. */
import t from 'tap';
import { openRedis } from '#coordination/redis/open-redis.ts';
import type { RedisConnection } from '#coordination/redis/redis-connection.ts';
import type { Webhooks } from '#events/webhooks.ts';
import { TableCatalogue } from '#query/space/table-catalogue.ts';
import { RedisReservations } from '#records/unique/redis-reservations.ts';
import { startMailServer } from '../services/mail-server.ts';
import { openQueryHarness, testDatabase, testWebhooks } from '../services/query-harness.ts';
import { startRedis } from '../services/redis.ts';
import { openSignUpApp } from '../services/sign-up-app.ts';
import { silentLog } from '../services/silent-log.ts';

const server = await startRedis();
const mailServer = await startMailServer();
const log = silentLog();
const redis: RedisConnection = await openRedis(server.config, log);
const reservations: RedisReservations[] = [];
const all: Webhooks[] = [];
const harness = await openQueryHarness({
  singleWriter: false,
  freshness: { heardAfter: 0 },
  redis,
  reservations: () => {
    const everUsed = async (signal: AbortSignal): Promise<boolean> =>
      !(await new TableCatalogue({ db: harness.db, database: testDatabase }).isEmpty(signal));
    const made = new RedisReservations({ redis, log, everUsed });
    reservations.push(made);
    return made;
  },
  webhooks: (db) => {
    const smtp = { url: mailServer.url, from: 'wall@example.com' };
    const made = testWebhooks({ db, singleWriter: false, smtp, delayAfter: () => 1 });
    all.push(made);
    return made;
  },
});
const one = await openSignUpApp(harness);
const two = await openSignUpApp(harness.another());
t.teardown(async () => {
  for (const webhooks of all) await webhooks.close();
  await Promise.all(reservations.map((made) => made.close()));
  await redis.close();
  await harness.close();
  await server.stop();
  await mailServer.close();
});

const statuses = (answers: readonly { readonly status: number }[]): readonly number[] =>
  answers.map(({ status }) => status).sort();

t.test('a token that two processes get at once is used once', async (t) => {
  for (let round = 0; round < 5; round++) {
    const email = `race-${round}@example.com`;
    t.match(await one.signUp({ email, password: 'secret' }), { status: 202 });
    await mailServer.next(email);
    await two.resetPassword({ email });
    const { token } = await mailServer.next(email);
    const answers = await Promise.all(
      [one, two, one, two].map((app, index) => app.resetPassword({ token, password: `p${index}` })),
    );
    t.strictSame(statuses(answers), [200, 403, 403, 403]);
    const right = answers.findIndex(({ status }) => status === 200);
    t.match(await (right % 2 === 0 ? two : one).login(email, `p${right}`), { status: 200 });
  }
});

t.test('an address that signs up in two processes at once is one user', async (t) => {
  for (let round = 0; round < 5; round++) {
    const email = `twice-${round}@example.com`;
    const answers = await Promise.all([one, two].map((app) => app.signUp({ email, password: 'secret' })));
    t.strictSame(statuses(answers), [202, 202]);
    t.match(await one.users.count(`email=${email}`), { body: { count: 1 } });
    const subjects = [(await mailServer.next(email)).subject, (await mailServer.next(email)).subject];
    t.match(subjects.sort(), [/^Confirm/, /^You already/]);
  }
});

t.test('limits are shared, and Redis holds no address', async (t) => {
  const email = 'limited@example.com';
  const answers = [];
  for (let i = 0; i < 4; i++) answers.push(await (i % 2 ? one : two).resetPassword({ email }));
  t.strictSame(
    answers.map(({ status }) => status),
    [202, 202, 202, 429],
  );
  const keys = (await server.command('KEYS', '*')) as string[];
  t.ok(keys.some((key) => key.startsWith('sluice:rate:1:mail-address:')));
  t.notMatch(keys.join(), /example/);
});

t.test('without Redis each process counts for itself, and mails go on', async (t) => {
  await server.kill();
  t.match(await one.resetPassword({ email: 'outage@example.com' }), { status: 202 });
  for (let i = 0; i < 2; i++) await one.resetPassword({ email: 'outage@example.com' });
  t.match(await one.resetPassword({ email: 'outage@example.com' }), { status: 429 });
});
