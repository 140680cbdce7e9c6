/** Accounts of the dashboard without a password: a login at the provider confirms what needs one. */
import t from 'tap';
import { CookieBrowser } from '../services/cookie-browser.ts';
import { startFalseProvider } from '../services/false-provider.ts';
import { client, startOidcProvider } from '../services/real-oidc-provider.ts';
import { sluiceFor } from '../services/start-sluice.ts';

const provider = await startOidcProvider(t);
const falseProvider = await startFalseProvider(t);
const envFor = (issuer: string) => ({
  OIDC_ISSUER: issuer,
  OIDC_CLIENT_ID: client.id,
  OIDC_CLIENT_SECRET: client.secret,
  REGISTRATION: 'open',
});
const sluice = await sluiceFor(t, { env: envFor(provider.issuer) });
const other = await sluiceFor(t, { env: envFor(falseProvider.issuer) });
type Server = typeof sluice;
const api = ({ baseUrl }: Server, path: string): string => `${baseUrl}/_console_/api${path}`;
provider.serve(api(sluice, '/oidc/callback'));

const ada = 'ada@example.com';
const logInAs = (email: string): void => provider.logInAs(email, { email, email_verified: true });

async function sessionOf(browser: CookieBrowser, at = sluice) {
  const response = await browser.open(api(at, '/session'));
  return (await response.json()) as {
    account: { email: string; hasPassword: boolean } | null;
    csrfToken: string;
  };
}

async function post(browser: CookieBrowser, path: string, body: object, at = sluice) {
  const { csrfToken } = await sessionOf(browser, at);
  const headers = { 'content-type': 'application/json', 'x-csrf-token': csrfToken, origin: at.baseUrl };
  const response = await browser.open(api(at, path), { method: 'POST', headers, body: JSON.stringify(body) });
  const text = await response.text();
  return { status: response.status, code: text === '' ? '' : JSON.parse(text).code };
}

/**
 * As a person whom the provider does not know yet: it asks before another person logs in.
 * @param path where it begins @returns where the dashboard sends the browser
 */
async function comeBack(browser: CookieBrowser, path: '/oidc/start' | '/oidc/confirm') {
  browser.forget(provider.issuer);
  const callback = await browser.follow(api(sluice, path), api(sluice, '/oidc/callback'));
  return (await browser.open(callback)).headers.get('location');
}

async function loggedIn(email: string): Promise<CookieBrowser> {
  logInAs(email);
  const browser = new CookieBrowser();
  await comeBack(browser, '/oidc/start');
  return browser;
}

const refused = { status: 403, code: 'wrong_password' };

t.test('an account without a password is changed and deleted after another login', async (t) => {
  const browser = await loggedIn(ada);
  t.match(await sessionOf(browser), { account: { email: ada, hasPassword: false } });
  const lovelace = { email: 'lovelace@example.com', password: '' };
  t.match(await post(browser, '/email', lovelace), refused, 'the login that began the session is not enough');
  t.match(await post(browser, '/account/delete', { email: ada, password: '' }), refused);
  t.match(await post(browser, '/password', { current: '', next: 'a first password' }), refused);
  t.equal(await comeBack(browser, '/oidc/confirm'), '/_console_/account?oidc=confirmed');
  t.match(await post(browser, '/email', lovelace), { status: 204 });
  t.match(await sessionOf(browser), { account: { email: lovelace.email } });
  t.match(
    await post(browser, '/account/delete', lovelace),
    refused,
    'the change began another session, which nobody confirmed',
  );
  logInAs(lovelace.email);
  t.equal(await comeBack(browser, '/oidc/confirm'), '/_console_/account?oidc=confirmed');
  t.match(await post(browser, '/account/delete', { email: ada, password: '' }), { status: 400 });
  t.match(await post(browser, '/account/delete', lovelace), { status: 204 });
  t.match(await sessionOf(browser), { account: null });
});

t.test('a first password, which is needed from then on', async (t) => {
  const email = 'grace@example.com';
  const browser = await loggedIn(email);
  await comeBack(browser, '/oidc/confirm');
  t.match(await post(browser, '/password', { current: '', next: 'a first password' }), { status: 204 });
  t.match(await sessionOf(browser), { account: { email, hasPassword: true } });
  t.equal(await comeBack(browser, '/oidc/confirm'), '/_console_/account?oidc=confirmed');
  t.match(await post(browser, '/account/delete', { email, password: '' }), refused);
  t.match(await post(browser, '/account/delete', { email, password: 'a first password' }), { status: 204 });
});

t.test('a login that confirms nothing', async (t) => {
  const email = 'ben@example.com';
  const wanted = { email, password: '' };
  const browser = await loggedIn(email);
  logInAs('eve@example.com');
  t.equal(await comeBack(browser, '/oidc/confirm'), '/_console_/account?oidc=other_account');
  provider.refuse();
  t.equal(await comeBack(browser, '/oidc/confirm'), '/_console_/account?oidc=access_denied');
  provider.logInAs(email, { email });
  t.equal(await comeBack(browser, '/oidc/confirm'), '/_console_/account?oidc=email_not_verified');
  t.equal((await new CookieBrowser().open(api(sluice, '/oidc/confirm'))).status, 401, 'without a session');
  t.match(await post(browser, '/account/delete', wanted), refused);

  logInAs(email);
  browser.forget(provider.issuer);
  const callback = await browser.follow(api(sluice, '/oidc/confirm'), api(sluice, '/oidc/callback'));
  const earlier = new CookieBrowser();
  earlier.copy(browser);
  await comeBack(browser, '/oidc/start');
  t.match(await post(browser, '/account/delete', wanted), refused, 'a login that begins a session');
  t.equal((await browser.open(callback)).status, 401, 'it was left for another login');
  const late = await earlier.open(callback);
  t.equal(late.headers.get('location'), '/_console_/account?oidc=other_account', 'its session has ended');
  t.match(await post(browser, '/account/delete', wanted), refused);
});

t.test('a proof in another session of the same account', async (t) => {
  const email = 'carl@example.com';
  const proven = await loggedIn(email);
  await comeBack(proven, '/oidc/confirm');
  const planted = new CookieBrowser();
  planted.copy(proven);
  // another session, while the cookie of the proof stays
  await comeBack(planted, '/oidc/start');
  t.match(await sessionOf(planted), { account: { email } });
  t.match(await post(planted, '/account/delete', { email, password: '' }), refused);
});

t.test('a provider that does not let the user log in again', async (t) => {
  const { claims, signed, now } = falseProvider;
  const browser = new CookieBrowser();
  const comeBackWith = async (path: string, more: { auth_time?: number }): Promise<string | null> => {
    const at = new URL(await browser.follow(api(other, path), `${falseProvider.issuer}/auth`));
    const { state, nonce, prompt, max_age } = Object.fromEntries(at.searchParams);
    const asked = path === '/oidc/confirm' ? { prompt: 'login', max_age: '300' } : {};
    t.match({ prompt, max_age }, asked);
    falseProvider.answerWith(() => signed(claims(nonce ?? '', more)));
    const query = new URLSearchParams({ code: 'a code', state: state ?? '' });
    return (await browser.open(`${api(other, '/oidc/callback')}?${query}`)).headers.get('location');
  };
  t.equal(await comeBackWith('/oidc/start', {}), '/_console_/');
  const failed = '/_console_/account?oidc=login_failed';
  t.equal(await comeBackWith('/oidc/confirm', {}), failed, 'it does not say when');
  t.equal(await comeBackWith('/oidc/confirm', { auth_time: now() - 3600 }), failed, 'an hour ago');
  const wanted = { email: ada, password: '' };
  t.match(await post(browser, '/account/delete', wanted, other), refused);
  t.equal(await comeBackWith('/oidc/confirm', { auth_time: now() }), '/_console_/account?oidc=confirmed');
  t.match(await post(browser, '/account/delete', wanted, other), { status: 204 });
});
