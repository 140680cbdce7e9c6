/** The dashboard in two processes of its own beside a query process, on one ClickHouse server and one Redis. */
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { call, fieldsOf, structureOf } from '../services/record-client.ts';
import { startRestrictedRedis } from '../services/redis-rights.ts';
import { startClickhouse } from '../services/start-clickhouse.ts';
import { acceptanceToken, killAll, startSluice } from '../services/start-sluice.ts';

const server = await startClickhouse();
const redis = await startRestrictedRedis();
const env = {
  CLICKHOUSE_URL: server.url,
  CLICKHOUSE_DATABASE: 'dashboard',
  REDIS_URL: redis.url,
  REDIS_USERNAME: redis.user.username,
  REDIS_PASSWORD: redis.user.password,
  REGISTRATION: 'open',
};
// the first one makes the tables
const query = await startSluice({ script: 'query/main.ts', env });
const [one, two] = await Promise.all([
  startSluice({ script: 'console/main.ts', env }),
  startSluice({ script: 'console/main.ts', env }),
]);
t.teardown(async () => {
  await killAll([query, one, two]);
  await server.close();
  await redis.stop();
});

const ada = { email: 'ada@example.com', password: 'a password of ada' };
const structure = structureOf('p', 'notes', fieldsOf('text TEXT'));
const find = async (token: string): Promise<number> =>
  (await call({ ...query, token, path: '/p/notes', structure })).status;

interface Session {
  readonly cookie: string;
  readonly csrfToken: string;
}

async function send({ baseUrl }: { baseUrl: string }, path: string, body: object, session?: Session) {
  const own = session === undefined ? {} : { cookie: session.cookie, 'x-csrf-token': session.csrfToken };
  const response = await fetch(`${baseUrl}/_console_/api${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...own },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  // biome-ignore lint/suspicious/noExplicitAny: answers are JSON of any shape
  const json: any = text === '' ? null : JSON.parse(text);
  const cookie = response.headers.get('set-cookie')?.split(';')[0] ?? '';
  return { status: response.status, body: json, session: { cookie, csrfToken: json?.csrfToken ?? '' } };
}

/** Uses a token all the time while something ends it. @returns how often it was taken, and how often too late */
async function useUntilOver(token: string, end: () => Promise<unknown>) {
  let acknowledged = Number.POSITIVE_INFINITY;
  const counts = { taken: 0, refused: 0, late: 0 };
  const load = (async () => {
    while (counts.refused < 20) {
      const asked = performance.now();
      const status = await find(token);
      if (status === 200) counts.taken++;
      else if (status === 401) counts.refused++;
      if (status === 200 && (counts.refused > 0 || asked > acknowledged + 1000)) counts.late++;
      await sleep(5);
    }
  })();
  await sleep(100);
  await end();
  acknowledged = performance.now();
  await load;
  return counts;
}

t.test('what the dashboard alone prints, serves and asks for', async (t) => {
  t.match(query.stdout(), new RegExp(`Base URL: +${query.baseUrl}`));
  t.notMatch(query.stdout(), /Dashboard/, 'a process without it does not tell of it');
  const page = await fetch(`${one.baseUrl}/`, { headers: { accept: 'text/html' }, redirect: 'manual' });
  t.equal(page.status, 302);
  t.equal(page.headers.get('location'), '/_console_/');
});

t.test('the account of the first start is claimed through any process', async (t) => {
  const claimed = await send(two, '/register', { ...ada, claimToken: acceptanceToken });
  t.equal(claimed.status, 201);
  const again = await send(one, '/register', {
    ...ada,
    email: 'eve@example.com',
    claimToken: acceptanceToken,
  });
  t.equal(again.status, 403);
  const { session } = await send(one, '/login', ada);
  const { body } = await send(two, '/token', {}, session);
  t.equal(await find(body.token), 200, 'a session of one process is a session in the other');
});

t.test('logging out in one process ends its access tokens everywhere within a second', async (t) => {
  const { session } = await send(one, '/login', ada);
  const { body } = await send(one, '/token', {}, session);
  t.equal(await find(body.token), 200);
  const counts = await useUntilOver(body.token, () => send(two, '/logout', {}, session));
  t.ok(counts.taken > 0);
  t.equal(counts.late, 0);
  t.equal((await send(one, '/token', {}, session)).status, 401);
  t.comment(JSON.stringify(counts));
});

t.test('an access token that is revoked in the dashboard ends everywhere within a second', async (t) => {
  const { session } = await send(one, '/login', ada);
  const { body } = await send(one, '/tokens', { name: 'short' }, session);
  for (let i = 0; i < 5; i++) t.equal(await find(body.token), 200);
  const counts = await useUntilOver(body.token, async () => {
    const response = await fetch(`${two.baseUrl}/_console_/api/tokens/${body.id}`, {
      method: 'DELETE',
      headers: { cookie: session.cookie, 'x-csrf-token': session.csrfToken },
    });
    t.equal(response.status, 204);
  });
  t.equal(counts.late, 0);
  t.comment(JSON.stringify(counts));
});

t.test('failed logins are counted by both processes together, until a success', async (t) => {
  const counted = async (): Promise<unknown[]> => {
    const names = (await redis.command('KEYS', 'sluice:login:1:*')) as string[];
    return Promise.all(names.map((name) => redis.command('GET', name)));
  };
  for (const process of [one, two, one]) {
    t.equal((await send(process, '/login', { ...ada, password: 'wrong' })).status, 401);
  }
  t.match(await counted(), [/^3 \d+$/]);
  t.equal((await send(two, '/login', ada)).status, 200);
  t.strictSame(await counted(), []);
});

t.test('without Redis people log in, and logging out still counts within a second', async (t) => {
  await redis.kill();
  const { session, status } = await send(one, '/login', ada);
  t.equal(status, 200);
  const { body } = await send(two, '/token', {}, session);
  t.equal(await find(body.token), 200);
  const counts = await useUntilOver(body.token, () => send(two, '/logout', {}, session));
  t.equal(counts.late, 0);
});
