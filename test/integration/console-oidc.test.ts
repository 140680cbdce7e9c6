/** Logins to the dashboard at a real provider, and attacks on them. */
import t from 'tap';
import { CookieBrowser } from '../services/cookie-browser.ts';
import { client, startOidcProvider } from '../services/real-oidc-provider.ts';
import { runToEnd, sluiceFor } from '../services/start-sluice.ts';

const provider = await startOidcProvider(t);
const env = {
  OIDC_ISSUER: provider.issuer,
  OIDC_CLIENT_ID: client.id,
  OIDC_CLIENT_SECRET: client.secret,
};
const sluice = await sluiceFor(t, { env });
const open = await sluiceFor(t, { env: { ...env, REGISTRATION: 'open' } });
const startOf = ({ baseUrl }: { baseUrl: string }) => `${baseUrl}/_console_/api/oidc/start`;
const callbackOf = ({ baseUrl }: { baseUrl: string }) => `${baseUrl}/_console_/api/oidc/callback`;
provider.serve(callbackOf(sluice), callbackOf(open));
await runToEnd('cli/token.ts', ['--user', 'ada@example.com', '--create-user'], { DATA_DIR: sluice.dataDir });

const sessionOf = async (browser: CookieBrowser, at = sluice) =>
  (await (await browser.open(`${at.baseUrl}/_console_/api/session`)).json()) as {
    account: { email: string } | null;
    oidcHost: string | null;
  };
/** Logs in. @returns where the dashboard sends the browser */
async function logIn(browser: CookieBrowser, at = sluice): Promise<string | null> {
  const callback = await browser.follow(startOf(at), callbackOf(at));
  return (await browser.open(callback)).headers.get('location');
}

t.test('a person with an account, and others', async (t) => {
  const browser = new CookieBrowser();
  t.match(await sessionOf(browser), { account: null, oidcHost: new URL(provider.issuer).host });
  provider.logInAs('ada', { email: 'ada@example.com', email_verified: true });
  t.equal(await logIn(browser), '/_console_/');
  t.match(await sessionOf(browser), { account: { email: 'ada@example.com' } });
  const cases = [
    [{ email: 'ada@example.com', email_verified: false }, 'email_not_verified'],
    [{ email: 'ada@example.com' }, 'email_not_verified'],
    [{}, 'email_not_verified'],
    [{ email: 'eve@example.com', email_verified: true }, 'no_account'],
  ] as const;
  for (const [facts, problem] of cases) {
    const other = new CookieBrowser();
    provider.logInAs('eve', facts);
    t.equal(await logIn(other), `/_console_/login?oidc=${problem}`, JSON.stringify(facts));
    t.match(await sessionOf(other), { account: null });
  }
  provider.refuse();
  t.equal(await logIn(new CookieBrowser()), '/_console_/login?oidc=access_denied');
});

t.test('who may register gets an account', async (t) => {
  provider.logInAs('eve', { email: 'eve@example.com', email_verified: true });
  for (let time = 0; time < 2; time++) {
    const browser = new CookieBrowser();
    t.equal(await logIn(browser, open), '/_console_/');
    t.match(await sessionOf(browser, open), { account: { email: 'eve@example.com' } });
  }
});

t.test('a login of another browser, or another login', async (t) => {
  provider.logInAs('ada', { email: 'ada@example.com', email_verified: true });
  const [attacker, victim] = [new CookieBrowser(), new CookieBrowser()];
  const callback = await attacker.follow(startOf(sluice), callbackOf(sluice));
  t.equal((await victim.open(callback)).status, 401, 'login CSRF');
  await victim.follow(startOf(sluice), provider.issuer);
  t.equal((await victim.open(callback)).status, 401, 'with a login of its own');
  t.match(await sessionOf(victim), { account: null });
  t.equal((await attacker.open(callback)).headers.get('location'), '/_console_/');
  t.equal((await attacker.open(callback)).status, 401, 'twice');
  const forged = new URL(callback);
  forged.searchParams.set('state', 'x');
  t.equal((await attacker.open(forged.href)).status, 401);
});

t.test('a session that was there ends: session fixation', async (t) => {
  provider.logInAs('ada', { email: 'ada@example.com', email_verified: true });
  const browser = new CookieBrowser();
  await logIn(browser);
  const response = await browser.open(`${sluice.baseUrl}/_console_/api/session`);
  t.equal(response.status, 200);
  const planted = new CookieBrowser();
  planted.copy(browser);
  await logIn(browser);
  t.match(await sessionOf(planted), { account: null }, 'the old cookie is worth nothing');
  t.match(await sessionOf(browser), { account: { email: 'ada@example.com' } });
});

t.test('without a provider', async (t) => {
  const none = await sluiceFor(t);
  t.equal((await fetch(startOf(none))).status, 404);
  t.match(await sessionOf(new CookieBrowser(), none), { oidcHost: null });
  const { status, stderr } = await runToEnd('main.ts', [], { ...env, OIDC_CLIENT_SECRET: '', PORT: '0' });
  t.not(status, 0);
  t.match(stderr, /should be set together/);
  for (const output of [sluice.stdout(), sluice.stderr()]) t.notMatch(output, client.secret);
});
