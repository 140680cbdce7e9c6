/** Logins by OpenID Connect in two processes: any of them goes on, and together they let a code be used once. */
import t from 'tap';
import { CookieBrowser } from '../services/cookie-browser.ts';
import { newPending, oidcPage, page } from '../services/oidc-page.ts';
import { client, startOidcProvider } from '../services/real-oidc-provider.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';
import { startRestrictedRedis } from '../services/redis-rights.ts';
import { loginSecret, openRuledFiles } from '../services/ruled-files.ts';
import { startClickhouse } from '../services/start-clickhouse.ts';
import { sluiceFor } from '../services/start-sluice.ts';

const [clickhouse, redis] = await Promise.all([startClickhouse(), startRestrictedRedis()]);
t.teardown(async () => {
  await redis.stop();
  await clickhouse.close();
});
const provider = await startOidcProvider(t);
const env = {
  CLICKHOUSE_URL: clickhouse.url,
  CLICKHOUSE_DATABASE: 'logins',
  REDIS_URL: redis.url,
  REDIS_USERNAME: redis.user.username,
  REDIS_PASSWORD: redis.user.password,
  LOGIN_TOKEN_SECRET: loginSecret,
  WEBHOOK_PRIVATE_NETWORKS: '127.0.0.1',
};
const server = await openRuledFiles(t, env);
const { ask, owned, sluice } = server;
const second = await sluiceFor(t, { env, script: 'query/main.ts' });
provider.serve(`${sluice.baseUrl}/_oidc_/callback`);
const { start, redeem } = oidcPage(server);
const fields = fieldsOf('name TEXT unique, password TEXT hashed, email TEXT unique');
await owned({ path: '/app/users/set-structure', body: JSON.parse(structureOf('app', 'users', fields)) });
const rules = { find: { id: '$user.id' } };
await owned({ method: 'PUT', path: '/_projects_/app/spaces/users/rules', body: rules });
await owned({
  method: 'PUT',
  path: '/_projects_/app/spaces/users/oidc',
  body: {
    ...{ issuer: provider.issuer, clientId: client.id, clientSecret: client.secret },
    ...{ signUp: true, returnTo: [page] },
  },
});

/** @returns what a page would have after a login */
async function codeFor(browser: CookieBrowser) {
  const { verifier, challenge } = newPending();
  const { url } = (await start({ returnTo: page, challenge })).json();
  // the other process opens the address
  const key = new URL(url).search;
  const elsewhere = await browser.open(`${second.baseUrl}/_oidc_/start${key}`);
  t.match(elsewhere.headers.get('location'), provider.issuer);
  const back = await browser.follow(url, page);
  return { code: new URLSearchParams(new URL(back).hash.slice(1)).get('oidc_code'), verifier };
}
const redeemElsewhere = (body: object) =>
  ask({ path: `${second.baseUrl}/app/function/oidc-login`, body, headers: server.page() });

t.test('a code of one process is for one use in all', async (t) => {
  provider.logInAs('ada', { email: 'ada@example.com', email_verified: true });
  const { code, verifier } = await codeFor(new CookieBrowser());
  const answers = await Promise.all([
    ...Array.from({ length: 3 }, () => redeem(code, verifier)),
    ...Array.from({ length: 3 }, () => redeemElsewhere({ code, verifier })),
  ]);
  t.strictSame(answers.map(({ status }) => status).sort(), [200, 401, 401, 401, 401, 401]);
});

t.test('without Redis nobody is logged in twice by one code', async (t) => {
  const { code, verifier } = await codeFor(new CookieBrowser());
  await redis.stop();
  t.equal((await redeem(code, verifier)).status, 503);
});
