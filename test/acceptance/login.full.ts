/** login and getTokenOwner over HTTP: tokens that are good where they were made for, and nowhere else. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { type Answer, call, fieldsOf, structureOf } from '../services/record-client.ts';
import { runToEnd, type Sluice, sluiceFor } from '../services/start-sluice.ts';
import { until } from '../services/worker-pids.ts';

let sluice = await sluiceFor(t, { env: { LOG_LEVEL: 'trace' } });

const structure = structureOf('shop', 'users', fieldsOf('email TEXT unique required, password TEXT hashed'));

const login = (body: unknown, more: { token?: string } = {}): Promise<Answer> => {
  const headers = { 'function-resources': `{"mustExistSpaceStructures":[${structure}]}` };
  return call({ ...sluice, path: '/shop/function/login', headers, body, ...more });
};
const users = (path: string, more: object = {}) =>
  call({ ...sluice, path: `/shop/users${path}`, structure, ...more });
const tokenOwner = (token: string, more = {}) => users('/get-token-owner', { headers: { token }, ...more });
const refused = { status: 401, body: { code: 'unauthorized', statusCode: 401, error: [String] } };

const ada = { email: 'ada@x', password: 'correct horse battery' };
const stored = (await users('', { body: [ada] })).body[0];
const { body: loggedIn } = await login(ada);

t.test('a login gives a token and the user', async (t) => {
  t.strictSame(Object.keys(loggedIn).sort(), ['token', 'user']);
  t.strictSame(loggedIn.user, stored);
  const owner = await tokenOwner(loggedIn.token);
  t.equal(owner.status, 200);
  t.strictSame(owner.body, stored);
  t.notMatch(JSON.stringify(owner.body), /password|argon2/);
});

t.test('wrong password and unknown user get the same answer', async (t) => {
  const answers = await Promise.all([
    login({ ...ada, password: 'wrong' }),
    login({ email: 'eve@x', password: 'wrong' }),
  ]);
  const [wrong, unknown] = answers.map(({ status, body, headers }) => {
    const { timestamp: _, requestId: __, ...rest } = body;
    return { status, body: rest, names: [...headers.keys()] };
  });
  t.match(wrong, refused);
  t.strictSame(unknown, wrong);
});

t.test('an access token is needed, and a login token is none', async (t) => {
  for (const token of ['', 'nonsense-nonsense-nonsense', loggedIn.token]) {
    t.match(await login(ada, { token }), refused);
    t.match(await tokenOwner(loggedIn.token, { token }), refused);
    t.match(await users('', { token }), refused);
  }
  const upload = await fetch(`${sluice.baseUrl}/_f_/shop/upload`, {
    method: 'POST',
    headers: { authorization: `Bearer ${loggedIn.token}` },
    body: new FormData(),
  });
  t.equal(upload.status, 401);
  await upload.text();
});

t.test('repeated failures are slowed down, and told when to come back', async (t) => {
  const guess = () => login({ email: 'victim@x', password: 'guess' });
  const first = performance.now();
  for (let i = 0; i < 4; i++) t.equal((await guess()).status, 401);
  const free = performance.now() - first;
  const later = performance.now();
  for (let i = 0; i < 3; i++) t.equal((await guess()).status, 401);
  t.ok(performance.now() - later >= 250 + 500 + 1000 - 20, `${free} ms before`);
  const burst = await Promise.all(Array.from({ length: 110 }, guess));
  const tooMany = burst.find(({ status }) => status === 429) as Answer;
  t.match(tooMany?.body, { code: 'too_many_attempts', statusCode: 429 });
  t.ok(Number(tooMany?.headers.get('retry-after')) >= 1);
  t.ok(burst.filter(({ status }) => status === 401).length <= 4);
  t.equal((await login(ada)).status, 200, 'others are served');
});

t.test('a token outlives a restart, and not its time or its key', async (t) => {
  t.equal(await sluice.stop(), 0);
  sluice = await sluice.restart();
  t.equal((await tokenOwner(loggedIn.token)).status, 200);
  await sluice.stop();
  const secret = 'a-secret-that-is-long-enough-for-it';
  sluice = await sluice.restart({ LOGIN_TOKEN_SECRET: secret, LOGIN_TOKEN_TTL_MS: '5000' });
  t.match(await tokenOwner(loggedIn.token), refused, 'signed with the key of the store');
  const short = (await login(ada)).body.token;
  t.equal((await tokenOwner(short)).status, 200);
  await until(() => Date.now() >= expiryOf(short));
  t.match(await tokenOwner(short), refused);
  t.notMatch(sluice.stdout() + sluice.stderr(), secret);
});

t.test('no secret is logged or lies about', async (t) => {
  const log = sluice.stdout() + sluice.stderr();
  t.notMatch(log, ada.password);
  t.notMatch(log, loggedIn.token);
  const env = { DATA_DIR: sluice.dataDir, LOGIN_TOKEN_SECRET: 'hush-hush' };
  const { stdout, stderr } = await runToEnd('main.ts', [], env);
  const output = stdout + stderr;
  t.match(output, /LOGIN_TOKEN_SECRET should be 32 to 1024 characters/);
  t.notMatch(output, 'hush-hush');
  await sluice.stop();
  for (const file of await filesOf(sluice.dataDir)) {
    if ((await readFile(file)).includes(ada.password)) t.fail(`${file} has the password`);
  }
});

/** When a login token stops to be good, in milliseconds since 1970. */
function expiryOf(token: string): number {
  const [, payload = ''] = token.split('.');
  return JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')).exp * 1000;
}

async function filesOf(directory: Sluice['dataDir']): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}
