/** Logins of users in two query processes and a gateway, on one ClickHouse server and one Redis. */
import t from 'tap';
import { fieldsOf, structureOf } from '../services/record-client.ts';
import { startRestrictedRedis } from '../services/redis-rights.ts';
import { startClickhouse } from '../services/start-clickhouse.ts';
import { killAll, runToEnd, type Sluice, startSluice } from '../services/start-sluice.ts';

const server = await startClickhouse();
const redis = await startRestrictedRedis();
const env = {
  CLICKHOUSE_URL: server.url,
  CLICKHOUSE_DATABASE: 'logins',
  REDIS_URL: redis.url,
  REDIS_USERNAME: redis.user.username,
  REDIS_PASSWORD: redis.user.password,
};
const [a, b, gateway] = await Promise.all([
  startSluice({ script: 'query/main.ts', env }),
  startSluice({ script: 'query/main.ts', env }),
  startSluice({ script: 'gateway/main.ts', env: { ...env, FILE_LINKS: 'private' } }),
]);
t.teardown(async () => {
  await killAll([a, b, gateway]);
  await server.close();
  await redis.stop();
});

async function ask(on: Sluice, path: string, headers: Record<string, string> = {}, body?: unknown) {
  const answer = await fetch(on.baseUrl + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${a.token}`, ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: JSON.parse(await answer.text()) };
}
const stored = { 'use-pre-stored-structure': 'true' };
const resources = { 'function-resources': JSON.stringify({ mustExistSpaceStructures: [{ slug: 'users' }] }) };
const password = 'correct horse';
const { stdout } = await runToEnd('cli/token.ts', ['--publishable', '--origin', '*'], {
  ...env,
  DATA_DIR: a.dataDir,
});
const asPage = { authorization: `Bearer ${stdout.trim()}` };

t.test('a login that ends in one process has ended in the other', async (t) => {
  const structure = structureOf('p', 'users', fieldsOf('name TEXT, password TEXT hashed'), {
    authOptions: { active: false, sessionSeconds: 3600 },
  });
  const ada = await ask(a, '/p/users/_single_', { structure }, { name: 'ada', password });
  const setRules = (of: string, rules: object) =>
    fetch(`${a.baseUrl}/_projects_/p/${of}/rules`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${a.token}` },
      body: JSON.stringify(rules),
    });
  t.equal((await setRules('spaces/users', { find: { id: '$user.id' } })).status, 200);
  t.equal((await setRules('files', { list: { owner: '$user.id' } })).status, 200);
  const logIn = async (): Promise<string> =>
    (await ask(a, '/p/function/login', resources, { name: 'ada', password })).body.token;
  /** By rules, and by the record itself; more than once, as what is asked twice is cached. */
  const uses = async (on: Sluice, token: string): Promise<number[]> => {
    const statuses: number[] = [];
    for (let time = 0; time < 3; time++) {
      if (on === gateway) statuses.push((await ask(on, '/_f_/p', { ...asPage, token })).status);
      else {
        statuses.push((await ask(on, '/p/users', { ...asPage, token })).status);
        statuses.push((await ask(on, '/p/users/get-token-owner', { ...stored, token })).status);
      }
    }
    return [...new Set(statuses)];
  };
  const [phone, laptop] = [await logIn(), await logIn()];
  for (const on of [a, b, gateway])
    for (const token of [phone, laptop]) t.strictSame(await uses(on, token), [200]);
  t.equal((await ask(a, '/p/function/logout', { ...resources, token: phone }, {})).status, 200);
  t.strictSame(await uses(b, phone), [401]);
  t.strictSame(await uses(a, phone), [401]);
  t.strictSame(await uses(gateway, phone), [401], 'nor for files');
  t.strictSame(await uses(b, laptop), [200]);
  t.strictSame(await uses(gateway, laptop), [200]);
  const renewed = await ask(b, '/p/function/refresh-login', { ...resources, token: laptop }, {});
  t.equal(renewed.status, 200);
  t.strictSame(await uses(a, renewed.body.token), [200]);
  const change = await ask(b, `/p/users/update-by-id?id=${ada.body.id}`, stored, { password });
  t.equal(change.status, 200);
  for (const on of [a, b, gateway])
    for (const token of [laptop, renewed.body.token]) t.strictSame(await uses(on, token), [401]);
  for (const on of [b, gateway]) t.strictSame(await uses(on, await logIn()), [200]);
});
