/** Live queries of one process, and rights that change in another one. */
import t from 'tap';
import { LiveClient } from '../services/live-client.ts';
import { call, fieldsOf, structureOf } from '../services/record-client.ts';
import { startRestrictedRedis } from '../services/redis-rights.ts';
import { startFaultyClickhouse } from '../services/start-faulty-clickhouse.ts';
import { killAll, startSluice } from '../services/start-sluice.ts';

const times = process.env.TEST_SIZE === 'full' ? 1000 : 100;
t.setTimeout(Math.max(300_000, times * 1000));
const clickhouse = await startFaultyClickhouse();
const redis = await startRestrictedRedis();
const env = {
  CLICKHOUSE_URL: clickhouse.url,
  REDIS_URL: redis.url,
  REDIS_USERNAME: redis.user.username,
  REDIS_PASSWORD: redis.user.password,
};
const [writer, other] = await Promise.all([1, 2].map(() => startSluice({ script: 'query/main.ts', env })));
t.teardown(async () => {
  await killAll([writer, other].flatMap((each) => each ?? []));
  await clickhouse.close();
  await redis.stop();
});
const structures = {
  users: structureOf('app', 'users', fieldsOf('name TEXT unique, password TEXT hashed, team TEXT')),
  notes: structureOf('app', 'notes', fieldsOf('text TEXT, team TEXT, extra TEXT')),
};

/** A call of the account at the process that writes. */
async function send(path: string, body?: unknown, method?: string) {
  const structure = structures[path.includes('users') ? 'users' : 'notes'];
  const more = { ...(body !== undefined && { body }), ...(method !== undefined && { method }) };
  const answer = await call({
    ...(writer as NonNullable<typeof writer>),
    path: `/app/${path}`,
    structure,
    ...more,
  });
  if (answer.status !== 200) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

const [{ id }] = await send('users', [{ name: 'ann', password: 'ann', team: 'red' }]);
await send('notes', [{ text: 'first', team: 'red' }]);
for (const [space, rules] of [
  ['users', { find: { id: '$user.id' } }],
  ['notes', { find: { team: '$user.team' } }],
] as const)
  await call({
    ...(writer as NonNullable<typeof writer>),
    method: 'PUT',
    path: `/_projects_/app/spaces/${space}/rules`,
    body: rules,
  });
const { body: login } = await call({
  ...(writer as NonNullable<typeof writer>),
  path: '/app/function/login',
  body: { name: 'ann', password: 'ann' },
  headers: {
    'function-resources': JSON.stringify({ mustExistSpaceStructures: [JSON.parse(structures.users)] }),
  },
});

/** At the other process, for the user. */
async function watching(headers: Readonly<Record<string, string>>, query = ''): Promise<LiveClient> {
  const { baseUrl = '', token = '' } = other ?? {};
  const all = { authorization: `Bearer ${token}`, structure: structures.notes, ...headers };
  const client = new LiveClient({ path: `/app/notes${query}`, headers: all });
  t.teardown(() => client.cut());
  if ((await client.open(baseUrl)) !== 200) throw new Error(client.text);
  await client.ready();
  return client;
}

const texts = (client: LiveClient) => [...client.records.values()].map(({ text }) => text);

t.test('a user who lost a right hears of nothing that was written later', async (t) => {
  const client = await watching({ token: login.token, 'sluice-act-as-user': 'true' });
  t.strictSame(texts(client), ['first']);
  const late: number[] = [];
  for (let at = 0; at < times; at++) {
    const [before, now] = at % 2 === 0 ? ['red', 'blue'] : ['blue', 'red'];
    await send(`users/update-by-id?id=${id}`, { team: now });
    const [note] = await send('notes', [{ text: `late ${at};`, team: before }]);
    const [hers] = await send('notes', [{ text: `hers ${at}`, team: now }]);
    await client.until(() => texts(client).includes(`hers ${at}`));
    if (client.text.includes(`late ${at};`)) late.push(at);
    // each change of the right sends all that is left
    for (const { id: old } of [note, hers]) await send(`notes?id=${old}`, undefined, 'DELETE');
  }
  t.strictSame(late, []);
});

t.test('of what is not shown no change is told', async (t) => {
  const client = await watching({}, '?$select=text&extra[exists]=false');
  const [note] = await send('notes', [{ text: 'seen', team: 'green' }]);
  await client.until(() => texts(client).includes('seen'));
  const second = await watching({}, '?$select=text&extra[exists]=false');
  const from = client.events.length;
  for (const team of ['black', 'white']) await send(`notes/update-by-id?id=${note.id}`, { team });
  await send(`notes/update-by-id?id=${note.id}`, { text: 'changed' });
  for (const each of [client, second]) await each.until(() => texts(each).includes('changed'));
  t.strictSame(client.types(from), ['change']);
  t.strictSame(second.types(), ['snapshot', 'ready', 'change']);
});
