/** Providers that lie, and what they are asked for. */
import t from 'tap';
import { CookieBrowser } from '../services/cookie-browser.ts';
import { startFalseProvider } from '../services/false-provider.ts';
import { newPending, oidcPage, page } from '../services/oidc-page.ts';
import { client } from '../services/real-oidc-provider.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';
import { openRuledFiles } from '../services/ruled-files.ts';

const provider = await startFalseProvider(t);
const server = await openRuledFiles(t, { WEBHOOK_PRIVATE_NETWORKS: '127.0.0.1' });
const { sluice, ask, owned, asOwner } = server;
const { start, redeem } = oidcPage(server);
const { issuer } = provider;

const fields = fieldsOf('name TEXT unique, password TEXT hashed, email TEXT unique');
await owned({ path: '/app/users/set-structure', body: JSON.parse(structureOf('app', 'users', fields)) });
await owned({
  method: 'PUT',
  path: '/_projects_/app/spaces/users/rules',
  body: { find: { id: '$user.id' } },
});
const path = '/_projects_/app/spaces/users/oidc';
const given = { issuer, clientId: client.id, clientSecret: client.secret, signUp: true, returnTo: [page] };
const set = (more: object = {}) => owned({ method: 'PUT', path, body: { ...given, ...more } });
await set();

/** Begins a login. @returns the callback as an honest provider would make it, and the nonce that it was given */
async function begin(browser: CookieBrowser) {
  const pending = newPending();
  const begun = await start({ returnTo: page, challenge: pending.challenge });
  const at = await browser.follow(begun.json().url, issuer);
  const { searchParams } = new URL(at);
  const [state, nonce] = [searchParams.get('state') ?? '', searchParams.get('nonce') ?? ''];
  const callback = new URL(`${sluice.baseUrl}/_oidc_/callback`);
  callback.search = new URLSearchParams({ code: 'a code', state }).toString();
  return { pending, nonce, callback, searchParams };
}

type Outcome = { readonly code: string | null; readonly error: string | null };
async function outcomeOf(browser: CookieBrowser, callback: URL): Promise<Outcome> {
  const response = await browser.open(callback.href);
  const location = response.headers.get('location');
  if (location === null) return { code: null, error: `${response.status}` };
  const fragment = new URLSearchParams(new URL(location).hash.slice(1));
  return { code: fragment.get('oidc_code'), error: fragment.get('oidc_error') };
}

t.test('ID tokens', async (t) => {
  const { claims, signed, now } = provider;
  const cases: Readonly<Record<string, (nonce: string) => string | Promise<string>>> = {
    'of another issuer': (nonce) => signed(claims(nonce, { iss: 'https://evil.example.com' })),
    'for another audience': (nonce) => signed(claims(nonce, { aud: 'another client' })),
    'for several audiences, without azp': (nonce) => signed(claims(nonce, { aud: [client.id, 'another'] })),
    'with another nonce': () => signed(claims('another')),
    'without a nonce': (nonce) => {
      const { nonce: _, ...others } = claims(nonce);
      return signed(others);
    },
    expired: (nonce) => signed(claims(nonce, { exp: now() - 3600, iat: now() - 7200 })),
    'not signed': (nonce) => provider.unsigned(claims(nonce)),
    'signed with the public key': (nonce) => provider.byPublicKey(claims(nonce)),
    'signed with another key': (nonce) => provider.byAnother(claims(nonce)),
    'without a subject': (nonce) => {
      const { sub: _, ...others } = claims(nonce);
      return signed(others);
    },
    'that are none': () => 'none',
    empty: () => '',
  };
  for (const [what, make] of Object.entries(cases)) {
    const browser = new CookieBrowser();
    const { nonce, callback } = await begin(browser);
    provider.answerWith(() => make(nonce));
    const { code, error } = await outcomeOf(browser, callback);
    t.equal(code, null, what);
    t.match(error, /^(?:login_failed|provider_unavailable)$/, what);
  }
  const browser = new CookieBrowser();
  const { pending, nonce, callback, searchParams } = await begin(browser);
  t.match(Object.fromEntries(searchParams), {
    ...{ client_id: client.id, response_type: 'code', code_challenge_method: 'S256' },
    redirect_uri: `${sluice.baseUrl}/_oidc_/callback`,
  });
  provider.answerWith(() => signed(claims(nonce)));
  const { code, error } = await outcomeOf(browser, callback);
  t.equal(error, null, 'a good one');
  t.match((await redeem(code, pending.verifier)).json().user, { email: 'ada@example.com' });
});

t.test('an email that is no boolean true', async (t) => {
  for (const email_verified of ['true', 1, null, 'false']) {
    const browser = new CookieBrowser();
    const { nonce, callback } = await begin(browser);
    provider.answerWith(() => provider.signed(provider.claims(nonce, { email_verified })));
    t.equal((await outcomeOf(browser, callback)).error, 'email_not_verified', JSON.stringify(email_verified));
  }
});

t.test('callbacks with what another provider sent', async (t) => {
  for (const [name, value] of [
    ['iss', 'https://evil.example.com'],
    ['error', 'server_error'],
    ['response', 'a.b.c'],
  ] as const) {
    const browser = new CookieBrowser();
    const { nonce, callback } = await begin(browser);
    provider.answerWith(() => provider.signed(provider.claims(nonce)));
    callback.searchParams.append(name, value);
    t.equal((await outcomeOf(browser, callback)).code, null, name);
  }
});

t.test('what discovery says', async (t) => {
  // each client is discovered anew
  let clients = 0;
  const begins = async (discovered: object): Promise<number> => {
    provider.discover(discovered);
    await set({ clientId: `client-${clients++}` });
    return (await start({ returnTo: page, challenge: newPending().challenge })).status;
  };
  t.equal(await begins({}), 200);
  t.equal(await begins({ issuer: 'https://evil.example.com' }), 503, 'another issuer');
  t.equal(await begins({ authorization_endpoint: undefined }), 503, 'no place to log in');
  provider.discover({});
  for (const text of ['', '[]', '{"issuer":', 'x'.repeat(600_000)]) {
    provider.answerAllWith(text);
    t.equal(await begins({}), 503, `${text.slice(0, 9)}, ${text.length} characters`);
  }
  provider.answerAllWith(null);
  await set();
});

t.test('addresses that no developer may reach', async (t) => {
  const own = await openRuledFiles(t);
  await own.owned({
    path: '/app/users/set-structure',
    body: JSON.parse(structureOf('app', 'users', fields)),
  });
  const before = provider.requests();
  for (const closed of [
    issuer,
    'https://127.0.0.1',
    'https://[::1]',
    'https://10.0.0.1',
    'https://169.254.169.254',
  ]) {
    await own.owned({ method: 'PUT', path, body: { ...given, issuer: closed } });
    const { status, text } = await own.ask({
      path: '/app/users/_oidc_/start',
      body: { returnTo: page, challenge: newPending().challenge },
      headers: asOwner,
    });
    t.equal(status, 503, closed);
    t.notMatch(text, /private network/, 'which says nothing of the network');
  }
  t.equal(provider.requests(), before, 'nobody was asked');
});

t.test('logs have no secret', async (t) => {
  const output = sluice.stdout() + sluice.stderr();
  t.match(output, /a login by OpenID Connect failed/);
  t.notMatch(output, client.secret);
  t.notMatch(output, /ada@example\.com|eyJ/);
  t.equal((await ask({ path: '/_oidc_/start?key=' })).status, 401);
});

t.test('an address of a page with letters that headers do not have', async (t) => {
  const returnTo = 'https://app.example.com/größe/日本';
  await set({ returnTo: [page, returnTo] });
  const browser = new CookieBrowser();
  const begun = await start({ returnTo, challenge: newPending().challenge });
  const at = await browser.follow(begun.json().url, issuer);
  const callback = new URL(`${sluice.baseUrl}/_oidc_/callback`);
  const state = new URL(at).searchParams.get('state') ?? '';
  callback.search = new URLSearchParams({ error: 'access_denied', state }).toString();
  const answer = await browser.open(callback.href);
  t.equal(answer.status, 302);
  t.equal(answer.headers.get('location'), `${new URL(returnTo).href}#oidc_error=access_denied`);
});
