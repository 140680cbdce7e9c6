/** An account that is deleted in a process of the dashboard: gateway, query service and dashboard each remove their part. */
import t from 'tap';
import {
  DashboardUser,
  type Processes,
  rowsWith,
  structure,
  tracesOf,
  useAccount,
} from '../services/account-in-use.ts';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { call } from '../services/record-client.ts';
import { startRestrictedRedis } from '../services/redis-rights.ts';
import { startClickhouse } from '../services/start-clickhouse.ts';
import { killAll, type Sluice, startSluice } from '../services/start-sluice.ts';

const server = await startClickhouse();
const redis = await startRestrictedRedis();
const env = {
  CLICKHOUSE_URL: server.url,
  CLICKHOUSE_DATABASE: 'deleted',
  REDIS_URL: redis.url,
  REDIS_USERNAME: redis.user.username,
  REDIS_PASSWORD: redis.user.password,
  REGISTRATION: 'open',
  JANITOR_GRACE_MS: '4000',
};
// the first one makes the tables
let query = await startSluice({ script: 'query/main.ts', env });
const [one, two, gateway] = (await Promise.all([
  startSluice({ script: 'console/main.ts', env }),
  startSluice({ script: 'console/main.ts', env }),
  startSluice({ script: 'gateway/main.ts', env }),
])) as [Sluice, Sluice, Sluice];
t.teardown(async () => {
  await killAll([query, one, two, gateway]);
  await server.close();
  await redis.stop();
});

async function rows(sql: string): Promise<Record<string, unknown>[]> {
  const answer = await fetch(server.url, { method: 'POST', body: `${sql} FORMAT JSONEachRow` });
  const text = await answer.text();
  if (!answer.ok) throw new Error(text);
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
}

t.test('a member who is removed in one process is out in all of them within a second', async (t) => {
  const [owner, member] = [new DashboardUser('o@example.com'), new DashboardUser('m@example.com')];
  for (const user of [owner, member]) await user.register(one);
  const { token: invitation } = (
    await owner.send(one, '/invitations', {
      email: member.email,
      manages: true,
      grants: { projects: ['diary'] },
    })
  ).body;
  t.equal((await member.send(two, '/invitation/accept', { token: invitation })).status, 200);
  const grants = { projects: ['diary'] };
  const made = (await member.send(two, '/tokens', { name: 'a way back in', grants })).body.token;
  const page = (await member.send(two, '/token', {})).body.token;
  const find = async (token: string, project = 'diary'): Promise<number> =>
    (
      await call({
        ...query,
        token,
        path: `/${project}/pages`,
        structure: structure.replace('diary', project),
      })
    ).status;
  for (const token of [made, page]) t.equal(await find(token), 200);
  t.equal(await find(page, 'other'), 403, 'the same gate as for a token with these grants');
  t.equal((await owner.send(one, `/members/${member.id}`, undefined, 'DELETE')).status, 204);
  t.equal(await find(made), 401, 'a token is heard of before the answer');
  await eventuallyEqual(t, () => find(page), 401, 'a page within 800 ms');
});

t.test('an account is deleted by all processes, and one that was away goes on later', async (t) => {
  const [ada, ben] = [new DashboardUser('ada@example.com'), new DashboardUser('ben@example.com')];
  const processes: Processes = { console: one, gateway, query };
  for (const user of [ada, ben]) await user.register(one);
  const { token, link } = await useAccount(processes, ada);
  const other = await useAccount({ ...processes, console: two }, ben);
  const find = async (at: string): Promise<number> =>
    (await call({ ...query, token: at, path: '/diary/pages', structure })).status;
  t.equal(await find(token), 200);
  const list = async (at: string): Promise<number> =>
    (await fetch(`${gateway.baseUrl}/_f_/diary`, { headers: { authorization: `Bearer ${at}` } })).status;
  t.equal(await list(token), 200);
  await query.kill();
  const put = () => fetch(link.replace(/^https?:\/\/[^/]+/, gateway.baseUrl), { method: 'PUT', body: 'x' });
  t.equal((await put()).status, 200);
  t.equal((await ada.deleteAccount(two)).status, 204);
  await eventuallyEqual(t, () => list(token), 401);
  await eventuallyEqual(t, async () => (await put()).status, 403);
  t.equal((await ada.send(one, '/session')).body.account, null);
  const [{ id }] = (await rows('SELECT id FROM deleted.closed_accounts WHERE deletes')) as [{ id: string }];
  const traces = tracesOf({ ...ada, id } as DashboardUser);
  t.ok(Object.keys(await rowsWith(rows, 'deleted', traces)).length > 0);
  query = await query.restart();
  t.equal(await find(token), 401);
  await eventuallyEqual(t, () => rowsWith(rows, 'deleted', traces), {}, 'nothing is left');
  t.ok(Object.keys(await rowsWith(rows, 'deleted', tracesOf(ben))).length > 8, 'the other account stays');
  const found = await call({ ...query, token: other.token, path: '/diary/pages', structure });
  // the kill may have interrupted its import
  t.ok(found.body.length >= 50);
  t.equal(await list(other.token), 200);
  await eventuallyEqual(
    t,
    async () =>
      (await rows('SELECT count() AS n FROM deleted.account_removals FINAL WHERE is_done')).map(
        ({ n }) => `${n}`,
      ),
    ['4'],
    'and every part has said so',
  );
});
