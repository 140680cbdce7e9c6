/** Access tokens in the dashboard: those of an account, and those that end with a session. */
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { hashToken } from '#auth/access-tokens.ts';
import { rowLine, timestampText } from '#kernel/ids/row-values.ts';
import { type ServedConsole, serveConsole, type Visitor } from '../services/console-harness.ts';
import { openMigratedChdb } from '../services/migrated-chdb.ts';

const stores = await openMigratedChdb(t);
let visitors = 0;
/** Within so many milliseconds what is revoked stops everywhere. */
const promised = 1000;

async function whoami({ ask }: ServedConsole, token: string): Promise<number> {
  return (await ask({ path: '/test/whoami', headers: { authorization: `Bearer ${token}` } })).status;
}

/** Somebody new: the tests share a store. */
async function registered(
  served: ServedConsole,
  email = `visitor-${visitors++}@example.com`,
): Promise<Visitor> {
  const visitor = served.visitor();
  await visitor.register(email);
  return visitor;
}

t.test('a token is made, shown once, listed with its last use, and revoked', async (t) => {
  const [one, two] = await Promise.all([serveConsole(t, stores), serveConsole(t, stores)]);
  const visitor = await registered(one);
  t.strictSame((await visitor.send('/tokens')).body, { tokens: [] });
  const made = await visitor.send('/tokens', { name: 'ci', expiresAt: '2099-01-31T12:00:00+01:00' });
  t.equal(made.status, 400, 'ten years at most');
  const expiresAt = new Date(Date.now() + 86_400_000).toISOString();
  const { status, body } = await visitor.send('/tokens', { name: 'ci', expiresAt });
  t.equal(status, 201);
  t.match(body, { token: /^sluice_[\w-]{51}$/, name: 'ci', expiresAt, lastUsedAt: null, revokedAt: null });
  await visitor.send('/tokens', { name: 'for ever' });
  t.equal(await whoami(one, body.token), 200);
  t.equal(await whoami(two, body.token), 200);
  const used = new Date(Date.now() - 60_000);
  await one.tokens.noteUses(new Map([[hashToken(body.token), used]]));
  const { tokens } = (await visitor.send('/tokens')).body;
  t.match(tokens, [
    { name: 'for ever', expiresAt: null, lastUsedAt: null },
    { name: 'ci', expiresAt, lastUsedAt: used.toISOString() },
  ]);
  t.notMatch(JSON.stringify(tokens), new RegExp(body.token));
  t.notMatch(JSON.stringify(tokens), new RegExp(hashToken(body.token)));
  t.equal((await visitor.send(`/tokens/${body.id}`, undefined, 'DELETE')).status, 204);
  t.equal(await whoami(one, body.token), 401);
  await sleep(promised);
  t.equal(await whoami(two, body.token), 401);
  t.equal((await visitor.send(`/tokens/${body.id}`, undefined, 'DELETE')).status, 204, 'again does no harm');
  t.match((await visitor.send('/tokens')).body.tokens[1].revokedAt, /^\d{4}-/);
});

t.test('what is no token is refused', async (t) => {
  const served = await serveConsole(t, stores);
  const visitor = await registered(served);
  const times = ['yesterday', '2020-01-01T00:00:00Z', '2030-02-30', 7, '2027-13-01T00:00:00Z', {}, ''];
  for (const expiresAt of times) {
    t.equal((await visitor.send('/tokens', { name: 'x', expiresAt })).status, 400, JSON.stringify(expiresAt));
  }
  for (const name of ['', 'x'.repeat(201), 'a\nb', 7, null, undefined]) {
    t.equal((await visitor.send('/tokens', { name })).status, 400, JSON.stringify(name));
  }
  for (const id of ['x', "'", '%00', '00000000-0000-4000-8000-000000000000']) {
    t.equal((await visitor.send(`/tokens/${id}`, undefined, 'DELETE')).status, 404, id);
  }
});

t.test('a token may be given less of reads than the operator allows, not more', async (t) => {
  const served = await serveConsole(t, stores);
  const visitor = await registered(served);
  const wrong = [
    ...[0, 5001, -1, 1.5, '7', {}, 1e300].map((readMaxRows) => ({ readMaxRows })),
    ...[99, 30_001, true, []].map((readTimeoutMs) => ({ readTimeoutMs })),
  ];
  for (const limits of wrong) {
    const { status, text } = await visitor.send('/tokens', { name: 'x', ...limits });
    t.equal(status, 400, JSON.stringify(limits));
    t.match(text, Object.keys(limits)[0]);
  }
  for (const limits of [
    { readMaxRows: 5000, readTimeoutMs: null },
    { readMaxRows: 1, readTimeoutMs: 100 },
    { readMaxRows: null, readTimeoutMs: null },
  ]) {
    const { status, body } = await visitor.send('/tokens', { name: 'x', ...limits });
    t.equal(status, 201);
    t.match(body, limits);
    t.match((await visitor.send('/tokens')).body.tokens[0], limits);
    const stored = await served.tokens.findByHash(hashToken(body.token));
    t.equal(stored?.limits?.maxRows ?? null, limits.readMaxRows);
    t.equal(stored?.limits?.timeout ?? null, limits.readTimeoutMs);
  }
});

t.test('a token may be made for some things alone', async (t) => {
  const served = await serveConsole(t, stores);
  const visitor = await registered(served);
  for (const grants of [[], 'find', { may: ['fly'] }, { projects: [] }, { spaces: ['..'] }, { more: 1 }]) {
    const { status, text } = await visitor.send('/tokens', { name: 'x', grants });
    t.equal(status, 400, JSON.stringify(grants));
    t.match(text, 'grants');
  }
  const grants = { projects: ['shop'], may: ['find', 'files:read'] };
  const { status, body } = await visitor.send('/tokens', { name: 'reader', grants });
  t.equal(status, 201);
  t.strictSame(body.grants, grants);
  t.strictSame((await visitor.send('/tokens')).body.tokens[0].grants, grants);
  t.strictSame((await served.tokens.findByHash(hashToken(body.token)))?.grants, grants);
  t.equal((await visitor.send('/tokens', { name: 'all' })).body.grants, null);
});

t.test("a session of one account never reaches another's tokens", async (t) => {
  const served = await serveConsole(t, stores);
  const [mine, other] = [await registered(served), await registered(served)];
  const { body } = await mine.send('/tokens', { name: 'mine' });
  t.strictSame((await other.send('/tokens')).body.tokens, []);
  t.equal((await other.send(`/tokens/${body.id}`, undefined, 'DELETE')).status, 404);
  t.equal(await whoami(served, body.token), 200);
  // the CSRF token of one session is of no use in another
  const mixed = served.visitor();
  mixed.cookie = mine.cookie;
  mixed.csrfToken = other.csrfToken;
  t.equal((await mixed.send(`/tokens/${body.id}`, undefined, 'DELETE')).status, 403);
});

t.test('a cookie is no access token, and an access token no cookie', async (t) => {
  const served = await serveConsole(t, stores);
  const visitor = await registered(served);
  const value = visitor.cookie?.split('=')[1] as string;
  t.equal(await whoami(served, value), 401);
  const cookie = visitor.cookie as string;
  t.equal((await served.ask({ path: '/test/whoami', headers: { cookie } })).status, 401);
  const tokens = [(await visitor.send('/tokens', { name: 'x' })).body.token, await visitor.token()];
  for (const token of tokens) {
    t.equal(await whoami(served, token), 200);
    const headers = { cookie: `sluice_session=${token}` };
    t.equal((await served.ask({ path: '/session', headers })).body.account, null);
    const authorization = `Bearer ${token}`;
    t.equal((await served.ask({ path: '/session', headers: { authorization } })).body.account, null);
    t.equal((await served.ask({ path: '/tokens', headers: { authorization } })).status, 401);
  }
});

for (const [what, email, end] of [
  ['logging out', 'ada@example.com', (visitor: Visitor) => visitor.send('/logout', {})],
  [
    'another password',
    'eve@example.com',
    (visitor: Visitor) =>
      visitor.send('/password', { current: 'the password of eve@example.com', next: 'a new one!' }),
  ],
] as const) {
  t.test(`${what} ends the access tokens of the session in every process within a second`, async (t) => {
    const [one, two] = await Promise.all([serveConsole(t, stores), serveConsole(t, stores)]);
    const visitor = await registered(one, email);
    const other = two.visitor();
    await other.logIn(email);
    const [token, spare, others] = [await visitor.token(), await visitor.token(), await other.token()];
    for (const served of [one, two]) {
      for (const each of [token, spare, others]) t.equal(await whoami(served, each), 200);
    }
    t.equal((await end(visitor)).status, 204);
    await sleep(promised);
    for (const served of [one, two]) {
      for (const each of [token, spare]) t.equal(await whoami(served, each), 401);
      t.equal(await whoami(served, others), what === 'logging out' ? 200 : 401);
    }
  });
}

t.test('access tokens of sessions last 15 minutes, are never listed, and leave no trace', async (t) => {
  const served = await serveConsole(t, stores);
  const visitor = await registered(served);
  const { body, status } = await visitor.send('/token', {});
  t.equal(status, 200);
  const life = Date.parse(body.expiresAt) - Date.now();
  t.ok(life > 14 * 60_000 && life <= 15 * 60_000);
  t.equal(await whoami(served, body.token), 200);
  t.strictSame((await visitor.send('/tokens')).body.tokens, []);
  t.equal((await served.visitor().send('/token', {})).status, 401);
});

t.test('an access token is not good for longer than its session', async (t) => {
  let ahead = 0;
  const served = await serveConsole(t, stores, { ahead: () => ahead });
  const visitor = await registered(served);
  const begun = Date.now();
  for (; ahead < 30 * 24 * 3_600_000 - 5 * 60_000; ahead += 11 * 3_600_000) await visitor.send('/session');
  ahead = 30 * 24 * 3_600_000 - 5 * 60_000;
  const { body } = await visitor.send('/token', {});
  t.ok(Date.parse(body.expiresAt) <= begun + 30 * 24 * 3_600_000 + 60_000, body.expiresAt);
});

t.test('a session has so many access tokens at most', async (t) => {
  const served = await serveConsole(t, stores);
  const visitor = await registered(served);
  const { session } = (await served.store.find(
    hashToken(visitor.cookie?.split('=')[1] as string),
    new Date(),
  )) as NonNullable<Awaited<ReturnType<typeof served.store.find>>>;
  const soon = timestampText(new Date(Date.now() + 60_000));
  const lines = Buffer.concat(Array.from({ length: 195 }, (_, i) => rowLine([`${i}`, session.hash, soon])));
  await stores.db.insert({
    table: `${stores.database}.session_tokens`,
    columns: ['hash', 'session', 'expires_at'],
    lines,
  });
  const statuses = await Promise.all(
    Array.from({ length: 8 }, async () => (await visitor.send('/token', {})).status),
  );
  t.strictSame(statuses.sort(), [200, 200, 200, 200, 200, 429, 429, 429]);
});
