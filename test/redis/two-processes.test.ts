/** Real processes on one ClickHouse server and one Redis: what one of them is told, the others know. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { call, fieldsOf, structureOf } from '../services/record-client.ts';
import { startRestrictedRedis } from '../services/redis-rights.ts';
import { startFaultyClickhouse } from '../services/start-faulty-clickhouse.ts';
import { killAll, runToEnd, type Sluice, sluiceFor, startSluice } from '../services/start-sluice.ts';

const server = await startFaultyClickhouse();
const redis = await startRestrictedRedis();
const env = {
  CLICKHOUSE_URL: server.url,
  CLICKHOUSE_DATABASE: 'pushed',
  REDIS_URL: redis.url,
  REDIS_USERNAME: redis.user.username,
  REDIS_PASSWORD: redis.user.password,
};
const dataDir = await mkdtemp(join(tmpdir(), 'sluice-elsewhere-'));
const [a, b] = await Promise.all([
  startSluice({ script: 'query/main.ts', env }),
  startSluice({ script: 'gateway/main.ts', env }),
]);
t.teardown(async () => {
  await killAll([a, b]);
  await server.close();
  await redis.stop();
  await rm(dataDir, { recursive: true, force: true });
});

/** `npm run token`, on the data directory of a process or on one where none runs. */
async function token(on: Sluice | null, ...args: string[]): Promise<string> {
  const { status, stdout, stderr } = await runToEnd('cli/token.ts', args, {
    ...env,
    DATA_DIR: on?.dataDir ?? dataDir,
  });
  t.equal(status, 0, stderr);
  return stdout.trim();
}

const structure = structureOf('p', 'notes', fieldsOf('text TEXT'));
const find = async (secret: string): Promise<number> =>
  (await call({ ...a, token: secret, path: '/p/notes', structure })).status;
/** The smallest upload there is: a bad token is refused before its content. */
const upload = async (secret: string): Promise<number> => {
  const form = new FormData();
  form.append('file', new Blob(['x']), 'x.txt');
  const headers = { authorization: `Bearer ${secret}` };
  return (await fetch(`${b.baseUrl}/_f_/p/upload`, { method: 'POST', body: form, headers })).status;
};

for (const [where, on] of [
  ['the query process', a],
  ['the gateway', b],
  ['a machine on which nothing runs', null],
] as const) {
  t.test(`a token that is revoked by ${where} ends in both within a second`, async (t) => {
    const secret = await token(on, '--name', 'short');
    for (let i = 0; i < 5; i++) {
      t.equal(await find(secret), 200);
      t.equal(await upload(secret), 200);
    }
    // until it is acknowledged the command runs, so load goes on meanwhile
    let acknowledged = Number.POSITIVE_INFINITY;
    const counts = { taken: 0, refused: 0, late: 0, other: 0 };
    const load = [find, upload].map(async (use) => {
      let refusals = 0;
      while (refusals < 20) {
        const asked = performance.now();
        const status = await use(secret);
        if (status === 200) counts.taken++;
        else if (status === 401) counts.refused++;
        else counts.other++;
        if (status === 401) refusals++;
        else if (refusals > 0) counts.late++;
        if (status === 200 && asked > acknowledged + 1000) counts.late++;
        await sleep(5);
      }
    });
    const id = await token(on, '--revoke', secret);
    acknowledged = performance.now();
    t.match(id, /^[0-9a-f-]{36}$/, 'and nothing about others that were not told');
    await Promise.all(load);
    t.equal(counts.late, 0);
    t.equal(counts.other, 0);
    t.comment(`${where}: ${JSON.stringify(counts)}`);
  });
}

t.test('a link for one upload lets one in, at whichever gateway', async (t) => {
  const c = await sluiceFor(t, { script: 'gateway/main.ts', env });
  const headers = { authorization: `Bearer ${await token(null, '--name', 'links')}` };
  for (const maker of [b, c]) {
    const body = JSON.stringify({ expiresIn: 600, times: 1 });
    const made = await fetch(`${maker.baseUrl}/_f_/p/upload-link`, { method: 'POST', headers, body });
    t.equal(made.status, 200);
    const { pathname, search } = new URL(((await made.json()) as { form: string }).form);
    const use = async ({ baseUrl }: Sluice): Promise<number> => {
      const form = new FormData();
      form.append('file', new Blob(['x']), 'x.txt');
      const response = await fetch(baseUrl + pathname + search, { method: 'POST', body: form });
      await response.text();
      return response.status;
    };
    const used = await Promise.all([b, c, b, c, b, c].map(use));
    t.strictSame(used.sort(), [200, 403, 403, 403, 403, 403]);
    t.strictSame([await use(b), await use(c)], [403, 403]);
  }
});

t.test('a failed login is counted for all processes, until a success', async (t) => {
  const users = structureOf('p', 'people', fieldsOf('email TEXT unique, password TEXT hashed'));
  const user = { email: 'ada@example.com', password: 'right' };
  t.equal((await call({ ...a, path: '/p/people/_single_', structure: users, body: user })).status, 200);
  const login = async (body: object): Promise<number> => {
    const headers = { 'function-resources': `{"mustExistSpaceStructures":[${users}]}` };
    return (await call({ ...a, path: '/p/function/login', headers, body })).status;
  };
  const counted = async (): Promise<unknown[]> => {
    const names = (await redis.command('KEYS', 'sluice:login:1:*')) as string[];
    return Promise.all(names.map((name) => redis.command('GET', name)));
  };
  for (let i = 0; i < 3; i++) t.equal(await login({ ...user, password: 'wrong' }), 401);
  t.match(await counted(), [/^3 \d+$/]);
  t.equal(await login(user), 200);
  t.strictSame(await counted(), []);
});

t.test('known tokens cost the database next to nothing, and Redis is asked for nothing else', async (t) => {
  const secret = await token(null, '--name', 'used');
  await find(secret);
  await upload(secret);
  server.clear();
  for (let i = 0; i < 6; i++) {
    t.equal(await find(secret), 200);
    t.equal(await upload(secret), 200);
    // longer than a look is good for when nobody tells of revocations: each of these would need one
    await sleep(900);
  }
  const looks = server.seen.filter(({ statement }) => /FROM \S*access_tokens\b/.test(statement)).length;
  // some at most, for moments in which a busy machine did not see Redis' answers
  t.ok(looks <= 4, `${looks}`);
  t.comment(`${looks} looks at the table of tokens for 12 requests`);
});

t.test('without Redis no find and no upload fails, and a token still ends within a second', async (t) => {
  const secret = await token(a, '--name', 'in the outage');
  await redis.kill();
  const counts = { good: 0, bad: 0, late: 0 };
  for (let i = 0; i < 30; i++) {
    for (const use of [find, upload]) counts[(await use(secret)) === 200 ? 'good' : 'bad']++;
  }
  const text = await token(a, '--revoke', secret);
  const acknowledged = performance.now();
  t.match(text, /Redis does not answer: .*70 seconds/);
  for (const use of [find, upload]) {
    for (;;) {
      const asked = performance.now();
      if ((await use(secret)) === 401) break;
      if (asked > acknowledged + 1000) counts.late++;
    }
  }
  await redis.start();
  for (const sluice of [a, b]) while (!sluice.stderr().includes('Redis is back')) await sleep(20);
  for (const use of [find, upload]) t.equal(await use(secret), 401);
  t.equal(counts.bad, 0);
  t.equal(counts.late, 0);
  t.comment(JSON.stringify(counts));
});

/** Finds, uploads and writes through both processes while Redis fails. */
for (const [how, begin, end] of [
  ['killed', redis.kill, redis.start],
  ['stopped', redis.pause, redis.resume],
  [
    'full',
    () => redis.command('CONFIG', 'SET', 'maxmemory', 1),
    () => redis.command('CONFIG', 'SET', 'maxmemory', 0),
  ],
] as const) {
  t.test(`under load, Redis ${how}: nothing fails but writes of unique values`, async (t) => {
    const users = structureOf('p', `users-${how}`, fieldsOf('email TEXT unique'));
    const ask = (body: object, space: string, text: string) =>
      call({ ...a, path: `/p/${space}/_single_`, structure: text, body });
    const counts = { finds: 0, uploads: 0, inserts: 0, unique: 0, refused: 0, unavailable: 0, failed: 0 };
    let attempts = 0;
    let stop = false;
    const note = (name: keyof typeof counts, status: number): void => {
      counts[status === 200 ? name : 'failed']++;
    };
    const load = [
      async () => note('finds', await find(a.token)),
      async () => note('uploads', await upload(a.token)),
      async () => note('inserts', (await ask({ text: 'x' }, 'notes', structure)).status),
      ...[0, 1].map(() => async () => {
        // two requests want each value
        const email = `${Math.floor(attempts++ / 2)}`;
        const { status } = await ask({ email }, `users-${how}`, users);
        if (status === 400) counts.refused++;
        else if (status === 503) counts.unavailable++;
        else note('unique', status);
      }),
    ].map(async (work) => {
      while (!stop) {
        await work();
        await sleep(5);
      }
    });
    await sleep(500);
    await begin();
    await sleep(2000);
    await end();
    const { inserts } = counts;
    while (counts.inserts < inserts + 10) await sleep(10);
    stop = true;
    await Promise.all(load);
    t.equal(counts.failed, 0);
    const { body } = await call({ ...a, path: `/p/users-${how}`, structure: users });
    const emails = (body as { email: string }[]).map(({ email }) => email);
    t.equal(emails.length, counts.unique);
    t.equal(new Set(emails).size, emails.length, 'no value is there twice');
    t.comment(`${how}: ${JSON.stringify(counts)}`);
  });
}

t.test('logs', async (t) => {
  for (const sluice of [a, b]) {
    t.equal(await sluice.stop(), 0);
    t.notMatch(sluice.stderr(), /hunter2|NOPERM|wrong signature/);
    t.match(sluice.stderr(), /Redis is back/);
  }
});
