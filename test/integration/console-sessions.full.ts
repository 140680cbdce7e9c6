/** Sessions of the dashboard: cookies, forged requests, rotation and expiry. */
import t from 'tap';
import { createSessionCookie } from '#console/sessions/session-cookie.ts';
import { RequestLimiter } from '#coordination/rate-limits/request-limiter.ts';
import { serveConsole, type Visitor } from '../services/console-harness.ts';
import { fakeRequest } from '../services/fake-request.ts';
import { openMigratedChdb } from '../services/migrated-chdb.ts';

const ada = 'ada@example.com';
const hour = 3_600_000;
const accountOf = async (visitor: Visitor): Promise<string | undefined> =>
  (await visitor.send('/session')).body.account?.email;

t.test('the cookie on plain loopback, and behind TLS', async (t) => {
  const stores = await openMigratedChdb(t);
  const plain = await serveConsole(t, stores);
  const { headers } = await plain.visitor().register(ada);
  t.match(
    headers['set-cookie'],
    /^sluice_session=sluice_session_[\w-]{51}; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Lax$/,
  );
  const tls = await serveConsole(t, stores, { behindTls: true });
  const forwarded = { 'x-forwarded-proto': 'https' };
  const login = await tls.ask({
    method: 'POST',
    path: '/login',
    headers: forwarded,
    body: { email: ada, password: `the password of ${ada}` },
  });
  const set = login.headers['set-cookie'] ?? '';
  t.match(set, /^__Host-sluice_session=\S+; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Lax; Secure$/);
  t.notMatch(set, /domain/i);
  const [name = '', value = ''] = (set.split(';')[0] ?? '').split('=');
  const session = async (cookie: string): Promise<unknown> =>
    (await tls.ask({ path: '/session', headers: { ...forwarded, cookie } })).body.account?.email;
  t.equal(await session(`${name}=${value}`), ada);
  t.equal(await session(`sluice_session=${value}`), undefined, 'a cookie that any host may set is none here');
  t.equal((await tls.ask({ path: '/session' })).status, 403, 'HTTPS is required');
  const out = await tls.ask({
    method: 'POST',
    path: '/logout',
    body: {},
    headers: { ...forwarded, cookie: `${name}=${value}`, 'x-csrf-token': login.body.csrfToken },
  });
  t.match(
    out.headers['set-cookie'],
    /^__Host-sluice_session=; Path=\/; Max-Age=0; HttpOnly; SameSite=Lax; Secure$/,
  );
});

t.test('the cookie of a process that takes TLS itself', async (t) => {
  const cookie = createSessionCookie({ tls: true });
  t.match(
    cookie.set(fakeRequest(), 'x'),
    /^__Host-sluice_session=x; Path=\/; .*; HttpOnly; SameSite=Lax; Secure$/,
  );
  const headers = { cookie: 'a=b; sluice_session=other; __Host-sluice_session=mine; c' };
  t.equal(cookie.read(fakeRequest({ headers })), 'mine');
  t.equal(cookie.read(fakeRequest({ headers: { cookie: 'sluice_session=other' } })), null);
});

t.test('what a page of another site sends changes nothing', async (t) => {
  const served = await serveConsole(t, await openMigratedChdb(t));
  const visitor = served.visitor();
  await visitor.register(ada);
  const { body } = await visitor.send('/tokens', { name: 'mine' });
  const good = { cookie: visitor.cookie as string, 'x-csrf-token': visitor.csrfToken as string };
  const host = `127.0.0.1:${served.port}`;
  const changes: [string, string, unknown][] = [
    ['POST', '/logout', {}],
    ['POST', '/token', {}],
    ['POST', '/tokens', { name: 'forged' }],
    ['POST', '/password', { current: `the password of ${ada}`, next: 'a new password' }],
    ['DELETE', `/tokens/${body.id}`, undefined],
  ];
  const { 'x-csrf-token': _, ...withoutToken } = good;
  const forged: [string, Record<string, string>][] = [
    ['no token', withoutToken],
    ['an empty token', { ...good, 'x-csrf-token': '' }],
    ['a wrong token', { ...good, 'x-csrf-token': `${good['x-csrf-token'].slice(0, -1)}_` }],
    ['the cookie as the token', { ...good, 'x-csrf-token': good.cookie.split('=')[1] as string }],
    ['cross-site', { ...good, 'sec-fetch-site': 'cross-site' }],
    ['same-site, which is another host', { ...good, 'sec-fetch-site': 'same-site' }],
    [
      'cross-site with an origin of ours',
      { ...good, 'sec-fetch-site': 'cross-site', origin: `http://${host}` },
    ],
    ['an old browser, another origin', { ...good, origin: 'https://evil.test' }],
    ['an old browser, another port', { ...good, origin: 'http://127.0.0.1:1' }],
    ['a sandboxed page', { ...good, origin: 'null' }],
  ];
  for (const [why, headers] of forged) {
    for (const [method, path, json] of changes) {
      const answer = await served.ask({ method, path, body: json, headers });
      t.match(answer, { status: 403, body: { code: 'csrf_refused' } }, `${method} ${path}: ${why}`);
      t.notOk(answer.headers['access-control-allow-origin'], 'and nobody else may read the answer');
    }
  }
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', '']) {
    const headers = { ...good, 'content-type': type };
    const answer = await served.ask({ method: 'POST', path: '/tokens', body: '{"name":"form"}', headers });
    t.match(answer, { status: 400, body: { code: 'wrong_content_type' } }, `a form as ${type}`);
  }
  // before there is a session: to log somebody in to another account
  for (const path of ['/login', '/register']) {
    for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.test' }]) {
      const json = { email: 'eve@example.com', password: 'long enough' };
      t.equal((await served.ask({ method: 'POST', path, body: json, headers })).status, 403);
    }
  }
  t.equal((await visitor.send('/tokens')).body.tokens.length, 1);
  t.equal(await accountOf(visitor), ada);
  // a name that was pointed at this machine after its page was loaded
  for (const name of [`evil.test:${served.port}`, 'evil.test', '127.0.0.1.evil.test']) {
    const headers = { ...good, host: name, origin: `http://${name}`, 'sec-fetch-site': 'same-origin' };
    const answer = await served.ask({ method: 'POST', path: '/tokens', body: { name: 'rebound' }, headers });
    t.match(answer, { status: 403, body: { code: 'unknown_host' } }, `Host: ${name}`);
  }
  for (const name of [`localhost:${served.port}`, '[::1]:80', '127.0.0.2']) {
    const headers = { ...good, host: name, 'sec-fetch-site': 'same-origin' };
    t.equal((await served.ask({ method: 'POST', path: '/token', body: {}, headers })).status, 200, name);
  }
  const old = await served.ask({
    method: 'POST',
    path: '/tokens',
    body: { name: 'own' },
    headers: { ...good, origin: `http://${host}` },
  });
  t.equal(old.status, 201, 'an old browser, our origin');
});

t.test('no page of another origin is allowed anything', async (t) => {
  const served = await serveConsole(t, await openMigratedChdb(t));
  const origin = 'https://evil.test';
  for (const path of ['/session', '/login', '/_console_/', '/_console_/assets/x.js', '/_console_']) {
    const preflight = await served.ask({
      method: 'OPTIONS',
      path,
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'x-csrf-token',
      },
    });
    t.equal(preflight.status, 204);
    const plain = await served.ask({ path, headers: { origin } });
    for (const { headers } of [preflight, plain]) {
      t.notOk(
        Object.keys(headers).some((name) => name.startsWith('access-control-')),
        path,
      );
    }
  }
});

t.test('a session that was there before a login does not become the session of the login', async (t) => {
  const served = await serveConsole(t, await openMigratedChdb(t));
  const eve = served.visitor();
  await eve.register('eve@example.com');
  await served.visitor().register(ada);
  const victim = served.visitor();
  victim.cookie = eve.cookie;
  victim.csrfToken = eve.csrfToken;
  const login = await victim.logIn(ada);
  t.equal(login.status, 200);
  t.not(victim.cookie, eve.cookie, 'it is a new cookie');
  t.not(victim.csrfToken, eve.csrfToken);
  t.equal(await accountOf(eve), undefined, 'and the old one is over');
  t.equal(await accountOf(victim), ada);
  // one that was never given out
  const fixed = served.visitor();
  fixed.cookie = `sluice_session=sluice_session_${'A'.repeat(51)}`;
  await fixed.logIn(ada);
  t.notMatch(fixed.cookie, /AAAA/);
});

t.test('logging out ends this session in every process at once, and no other one', async (t) => {
  const stores = await openMigratedChdb(t);
  const [one, two] = await Promise.all([serveConsole(t, stores), serveConsole(t, stores)]);
  const here = one.visitor();
  await here.register(ada);
  const there = two.visitor();
  await there.logIn(ada);
  const elsewhere = two.visitor();
  elsewhere.cookie = here.cookie;
  t.equal(await accountOf(elsewhere), ada);
  const out = await here.send('/logout', {});
  t.match(out.headers['set-cookie'], /^sluice_session=; .*Max-Age=0/);
  t.equal(await accountOf(elsewhere), undefined);
  t.equal(await accountOf(there), ada);
  t.equal((await here.send('/tokens')).status, 401);
});

t.test('another password ends all sessions, and begins one', async (t) => {
  const stores = await openMigratedChdb(t);
  const [one, two] = await Promise.all([serveConsole(t, stores), serveConsole(t, stores)]);
  const here = one.visitor();
  await here.register(ada);
  const there = two.visitor();
  await there.logIn(ada);
  const before = { ...here } as { cookie: string; csrfToken: string };
  t.equal((await here.send('/password', { current: 'wrong', next: 'a new password' })).status, 403);
  t.equal((await here.send('/password', { current: `the password of ${ada}`, next: 'short' })).status, 400);
  t.equal(await accountOf(there), ada);
  const changed = await here.send('/password', { current: `the password of ${ada}`, next: 'a new password' });
  t.equal(changed.status, 204);
  t.not(here.cookie, before.cookie);
  t.equal(await accountOf(there), undefined);
  t.equal(await accountOf(here), ada);
  t.not(here.csrfToken, before.csrfToken, 'GET /session tells the new one');
  const stolen = one.visitor();
  stolen.cookie = before.cookie;
  t.equal(await accountOf(stolen), undefined);
  t.equal((await two.visitor().logIn(ada)).status, 401);
  t.equal((await two.visitor().logIn(ada, 'a new password')).status, 200);
});

t.test('of two changes of a password at once one counts', async (t) => {
  const stores = await openMigratedChdb(t);
  const [one, two] = await Promise.all([serveConsole(t, stores), serveConsole(t, stores)]);
  const visitors = [one.visitor(), two.visitor()];
  await visitors[0]?.register(ada);
  await visitors[1]?.logIn(ada);
  const answers = await Promise.all(
    visitors.map((visitor, i) =>
      visitor.send('/password', { current: `the password of ${ada}`, next: `new password ${i}` }),
    ),
  );
  const good = answers.findIndex(({ status }) => status === 204);
  t.strictSame(answers.map(({ status }) => status === 204).sort(), [false, true]);
  t.equal((await one.visitor().logIn(ada, `new password ${good}`)).status, 200);
});

t.test('a session ends when it is not used for 12 hours, and after 30 days in any case', async (t) => {
  let ahead = 0;
  const served = await serveConsole(t, await openMigratedChdb(t), { ahead: () => ahead });
  const busy = served.visitor();
  await busy.register(ada);
  const idle = served.visitor();
  await idle.logIn(ada);
  ahead += 11 * hour;
  t.equal(await accountOf(busy), ada);
  ahead += 2 * hour;
  t.equal(await accountOf(busy), ada, 'a use begins the hours anew');
  t.equal(await accountOf(idle), undefined);
  while (ahead < 29 * 24 * hour) {
    ahead += 11 * hour;
    t.equal(await accountOf(busy), ada);
  }
  ahead = 30 * 24 * hour + 1000;
  t.equal(await accountOf(busy), undefined);
});

t.test('an account has so many sessions at most: the one that was used last goes on', async (t) => {
  let ahead = 0;
  const served = await serveConsole(t, await openMigratedChdb(t), { ahead: () => ahead });
  const visitors = [served.visitor()];
  await visitors[0]?.register(ada);
  for (let i = 1; i < 22; i++) {
    ahead += 1000;
    const visitor = served.visitor();
    await visitor.logIn(ada);
    visitors.push(visitor);
  }
  const alive = await Promise.all(visitors.map(async (visitor) => (await accountOf(visitor)) === ada));
  t.strictSame(alive, [false, false, ...Array(20).fill(true)]);
});

t.test('a session is limited as an access token is, and everybody by address', async (t) => {
  const stores = await openMigratedChdb(t);
  const limits = (burst: number) => ({ limits: { rate: 0.001, burst, inFlight: 0 } });
  const served = await serveConsole(t, stores, { limiter: new RequestLimiter(limits(3)) });
  const visitor = served.visitor();
  await visitor.register(ada);
  const statuses: number[] = [];
  for (let i = 0; i < 4; i++) statuses.push((await visitor.send('/session')).status);
  t.strictSame(statuses, [200, 200, 200, 429]);
  const other = served.visitor();
  t.equal((await other.logIn(ada)).status, 200);
  t.equal(await accountOf(other), ada);
  const crowded = await serveConsole(t, stores, { addressLimiter: new RequestLimiter(limits(2)) });
  const seen: number[] = [];
  for (const path of ['/session', '/_console_/', '/login']) {
    seen.push((await crowded.ask({ path, method: path === '/login' ? 'POST' : 'GET' })).status);
  }
  t.strictSame(seen, [200, 200, 429]);
});

t.test('cookies that were made up cost the store nothing', async (t) => {
  const stores = await openMigratedChdb(t);
  let statements = 0;
  const db: typeof stores.db = {
    ...stores.db,
    rows(statement) {
      if (/console_sessions/.test(statement.sql)) statements++;
      return stores.db.rows(statement);
    },
  };
  const served = await serveConsole(t, { ...stores, db });
  const cookies = [
    `sluice_session=sluice_session_${'A'.repeat(51)}`,
    'sluice_session=',
    'sluice_session',
    `sluice_session=${"'".repeat(100)}`,
    `sluice_session=sluice_${'A'.repeat(51)}`,
    `a=b; ${'c=d;'.repeat(500)}`,
  ];
  for (const cookie of cookies) {
    t.equal((await served.ask({ path: '/session', headers: { cookie } })).body.account, null);
    t.equal((await served.ask({ path: '/tokens', headers: { cookie } })).status, 401);
  }
  t.equal(statements, 0);
});
