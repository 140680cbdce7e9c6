/** Users of an application log in at a real provider: `oidc-provider`. */
import t from 'tap';
import { CookieBrowser } from '../services/cookie-browser.ts';
import { newPending, oidcPage, page } from '../services/oidc-page.ts';
import { client, startOidcProvider } from '../services/real-oidc-provider.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';
import { type Answer, openRuledFiles } from '../services/ruled-files.ts';

const provider = await startOidcProvider(t);
const server = await openRuledFiles(t, { WEBHOOK_PRIVATE_NETWORKS: '127.0.0.1' });
const { sluice, ask, owned, asOwner, tokenOf } = server;
provider.serve(`${sluice.baseUrl}/_oidc_/callback`);
const { start, redeem, logIn } = oidcPage(server);

const users = structureOf('app', 'users', [
  ...fieldsOf('name TEXT unique, password TEXT hashed, email TEXT unique, account TEXT unique'),
]);
await owned({ path: '/app/users/set-structure', body: JSON.parse(users) });
const own = { id: '$user.id' };
await owned({
  method: 'PUT',
  path: '/_projects_/app/spaces/users/rules',
  body: { find: own, update: own, hidden: ['account'] },
});
const settings = {
  ...{ issuer: provider.issuer, clientId: client.id, clientSecret: client.secret },
  returnTo: [page],
};
const path = '/_projects_/app/spaces/users/oidc';
const set = (more: object = {}) => owned({ method: 'PUT', path, body: { ...settings, ...more } });
const recordsBy = async (email: string): Promise<{ id: string }[]> =>
  (
    await owned({ path: `/app/users?email=${email}`, headers: { 'use-pre-stored-structure': 'true' } })
  ).json();

t.test('settings, without their secret', async (t) => {
  t.strictSame((await owned({ path })).json(), { settings: null });
  const answered = await set();
  const { clientSecret: _, ...shown } = settings;
  const defaults = { scopes: ['openid', 'email'], claim: 'email', field: 'email', signUp: false };
  t.strictSame(answered.json(), { settings: { ...shown, ...defaults } });
  const read = await owned({ path });
  t.strictSame(read.json(), answered.json());
  for (const { text } of [answered, read]) t.notMatch(text, settings.clientSecret);
  const put = (body: unknown, headers: Readonly<Record<string, string>> = asOwner) =>
    ask({ method: 'PUT', path, body, headers });
  const cases: readonly (readonly [change: object, problem: RegExp])[] = [
    [{ issuer: 'http://login.example.com' }, /issuer/],
    [{ issuer: 'https://user@login.example.com' }, /issuer/],
    [{ issuer: 'file:///etc/passwd' }, /issuer/],
    [{ issuer: 'https://login.example.com?x' }, /issuer/],
    // another issuer would be sent the secret of this one
    [{ issuer: 'https://evil.example.com', clientSecret: undefined }, /clientSecret/],
    [{ clientId: 'another', clientSecret: undefined }, /clientSecret/],
    [{ scopes: ['email'] }, /scopes/],
    [{ claim: 'name' }, /claim/],
    [{ field: 'password' }, /field/],
    [{ field: 'nothing' }, /field/],
    [{ returnTo: [] }, /returnTo/],
    [{ returnTo: ['javascript:alert(1)'] }, /returnTo/],
    [{ returnTo: ['http://app.example.com/'] }, /returnTo/],
    [{ returnTo: ['https://app.example.com/#x'] }, /returnTo/],
    [{ colour: 'red' }, /colour/],
  ];
  for (const [change, problem] of cases) {
    const { status, text } = await put({ ...settings, ...change });
    t.equal(status, 400, JSON.stringify(change));
    t.match(text, problem);
  }
  t.equal((await put({ ...settings, clientSecret: undefined })).status, 200, 'the secret stays');
  const reader = await tokenOf('--may', 'find');
  t.equal((await put(settings, { authorization: `Bearer ${reader}` })).status, 403);
  t.equal((await put(settings, server.page())).status, 403);
});

t.test('a user who is known, and one who is not', async (t) => {
  await set();
  provider.logInAs('subject-of-ada', { email: 'ada@example.com', email_verified: true });
  const stranger = await logIn(new CookieBrowser());
  t.match(stranger.answer, { status: 401 }, 'no sign-up');
  t.strictSame(await recordsBy('ada@example.com'), []);

  await set({ signUp: true });
  const first = await logIn(new CookieBrowser());
  t.equal(first.answer?.status, 200, `${first.answer?.text}`);
  const { token, user } = (first.answer as Answer).json();
  t.match(user, { email: 'ada@example.com' });
  t.notOk('account' in user, 'a hidden field');
  t.equal((await recordsBy('ada@example.com')).length, 1);
  await set();
  const browser = new CookieBrowser();
  for (let time = 0; time < 2; time++)
    t.equal((await logIn(browser)).answer?.json().user.id, user.id, 'the same user, in one browser');
  const headers = { ...server.page({ id: user.id, token }), 'use-pre-stored-structure': 'true' };
  t.match(
    (await ask({ path: '/app/users', headers })).json(),
    [{ id: user.id }],
    'the token is one of rules',
  );
});

t.test('logins of a new user at once make one record', async (t) => {
  await set({ signUp: true });
  provider.logInAs('subject-of-eve', { email: 'eve@example.com', email_verified: true });
  const answers = await Promise.all(Array.from({ length: 5 }, () => logIn(new CookieBrowser())));
  const ids = new Set(answers.map(({ answer }) => answer?.json().user?.id));
  t.equal(ids.size, 1);
  t.equal((await recordsBy('eve@example.com')).length, 1);
});

t.test('an email that is not verified, and a user who refuses', async (t) => {
  await set({ signUp: true });
  for (const facts of [
    { email: 'ada@example.com', email_verified: false },
    { email: 'ada@example.com' },
    {},
  ]) {
    provider.logInAs('subject-of-mallory', facts);
    t.equal((await logIn(new CookieBrowser())).error, 'email_not_verified', JSON.stringify(facts));
  }
  provider.refuse();
  t.equal((await logIn(new CookieBrowser())).error, 'access_denied');
});

t.test('users by their sub', async (t) => {
  await set({ signUp: true, claim: 'sub', field: 'account', scopes: ['openid'] });
  provider.logInAs('subject-1', {});
  const one = await logIn(new CookieBrowser());
  provider.logInAs('subject-2', {});
  const other = await logIn(new CookieBrowser());
  provider.logInAs('subject-1', {});
  const again = await logIn(new CookieBrowser());
  t.equal(again.answer?.json().user.id, one.answer?.json().user.id);
  t.not(other.answer?.json().user.id, one.answer?.json().user.id);
  await set();
});

t.test('where a login may return to', async (t) => {
  const { challenge } = newPending();
  for (const returnTo of [
    'https://evil.example.com/',
    'https://app.example.com/',
    `${page}/..`,
    `${page}?next=https://evil.example.com`,
    `${page}#x`,
    `${page}.evil.example.com`,
    '//evil.example.com',
    'javascript:alert(1)',
    '',
  ])
    t.equal((await start({ returnTo, challenge })).status, 403, returnTo);
  for (const body of [{ returnTo: page }, { returnTo: page, challenge: 'short' }, { challenge }, [], null])
    t.equal((await start(body as object)).status, 400, JSON.stringify(body));
  t.equal(
    (await start({ returnTo: page, challenge }, { origin: 'https://evil.example.com' })).status,
    403,
    'a page of another origin',
  );
  const elsewhere = await ask({
    path: '/app/nothing/_oidc_/start',
    body: { returnTo: page, challenge },
    headers: server.page(),
  });
  t.equal(elsewhere.status, 403, 'a space without rules, or none');
});

t.test('codes are for one use, by the page that began the login', async (t) => {
  provider.logInAs('subject-of-ada', { email: 'ada@example.com', email_verified: true });
  const browser = new CookieBrowser();
  const pending = newPending();
  const begun = (await start({ returnTo: page, challenge: pending.challenge })).json();
  const code = new URLSearchParams(new URL(await browser.follow(begun.url, page)).hash.slice(1)).get(
    'oidc_code',
  );
  t.equal((await redeem(code, newPending().verifier)).status, 401, 'of another page: login CSRF');
  t.equal((await redeem(code, '')).status, 401);
  t.equal((await redeem(`${code?.slice(0, -4)}AAAA`, pending.verifier)).status, 401, 'altered');
  t.equal((await redeem(null, pending.verifier)).status, 400);
  const elsewhere = await ask({
    path: '/app2/function/oidc-login',
    body: { code, verifier: pending.verifier },
    headers: asOwner,
  });
  t.equal(elsewhere.status, 401, 'of another project');
  const other = await tokenOf('--user', 'other@x.io', '--create-user');
  const ofOther = await ask({
    path: '/app/function/oidc-login',
    body: { code, verifier: pending.verifier },
    headers: { authorization: `Bearer ${other}` },
  });
  t.equal(ofOther.status, 401, 'of another account');
  const ofNotes = await ask({
    path: '/app/function/oidc-login',
    body: { code, verifier: pending.verifier },
    headers: { authorization: `Bearer ${await tokenOf('--space', 'notes')}` },
  });
  t.equal(ofNotes.status, 403, 'by a token for another space');
  t.equal((await redeem(code, pending.verifier)).status, 200);
  t.equal((await redeem(code, pending.verifier)).status, 401, 'again');
});

t.test('callbacks belong to the browser that began, once', async (t) => {
  provider.logInAs('subject-of-ada', { email: 'ada@example.com', email_verified: true });
  const [browser, victim] = [new CookieBrowser(), new CookieBrowser()];
  const begin = async () => (await start({ returnTo: page, challenge: newPending().challenge })).json().url;
  const callback = await browser.follow(await begin(), `${sluice.baseUrl}/_oidc_/callback`);
  t.equal((await victim.open(callback)).status, 401, 'a browser that began none');
  await victim.follow(await begin(), provider.issuer);
  t.equal((await victim.open(callback)).status, 401, 'a browser that began another: session fixation');
  const url = new URL(callback);
  url.searchParams.append('state', 'another');
  t.equal((await browser.open(url.href)).status, 401, 'two states');
  const cookie = (await browser.open(callback)).headers;
  t.match(cookie.get('location'), /#oidc_code=/);
  t.match(cookie.get('set-cookie'), /sluice_oidc=; .*Max-Age=0; HttpOnly; SameSite=Lax/);
  t.equal((await browser.open(callback)).status, 401, 'its cookie is gone');
  t.equal((await ask({ path: '/_oidc_/start?key=invented' })).status, 401);
  t.equal((await ask({ path: '/_oidc_/callback' })).status, 401);
});

t.test('a space that is made again has no settings', async (t) => {
  await owned({ method: 'DELETE', path: '/_projects_/app/spaces/users' });
  await owned({ path: '/app/users/set-structure', body: JSON.parse(users) });
  t.strictSame((await owned({ path })).json(), { settings: null });
  await set();
  t.equal((await owned({ method: 'PUT', path, body: null })).status, 200);
  t.strictSame((await owned({ path })).json(), { settings: null });
  for (const output of [sluice.stdout(), sluice.stderr()]) t.notMatch(output, client.secret);
});
