/** How streams begin and end: limits, addresses for browsers, tokens that are revoked, and a server that stops. */
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { LiveClient } from '../services/live-client.ts';
import { equalsFind, liveSpace } from '../services/live-spaces.ts';
import { call, fieldsOf } from '../services/record-client.ts';
import { runToEnd, sluiceFor } from '../services/start-sluice.ts';
import { until } from '../services/worker-pids.ts';

const sluice = await sluiceFor(t, {
  env: { LIVE_MAX_STREAMS: '6', LIVE_MAX_TOKEN_STREAMS: '4', DRAIN_TIMEOUT_MS: '3600000' },
});
const spaceOf = (test: Pick<Test, 'teardown'>, slug: string) =>
  liveSpace(test, () => sluice, slug, fieldsOf('name TEXT, n NUMBER'));

async function token(...args: readonly string[]): Promise<string> {
  const { status, stdout, stderr } = await runToEnd('cli/token.ts', args, { DATA_DIR: sluice.dataDir });
  if (status !== 0) throw new Error(stderr);
  return stdout.trim();
}

const bearer = (text: string) => ({ headers: { authorization: `Bearer ${text}` } });

/** The number of a metric. */
async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${sluice.baseUrl}/metrics`)).text();
  return Number(new RegExp(`^${name}(?:{.*})? (\\S+)$`, 'm').exec(text)?.[1]);
}

const gone = () => until(async () => (await metric('sluice_live_streams')) === 0);

t.test('no more streams than are allowed', async (t) => {
  const space = spaceOf(t, 'many');
  await space.insert([{ n: 1 }]);
  const refused = async (client: LiveClient, problem: RegExp) => {
    await client.ended();
    t.match(client, { status: 429, headers: { 'retry-after': /^\d+$/ } });
    t.match(JSON.parse(client.text), { code: 'too_many_streams', message: problem });
  };
  const own = [];
  for (let at = 0; at < 4; at++) own.push(await space.watch());
  await refused(await space.watch(), /4 live queries of an access token/);
  t.equal((await space.find()).length, 1, 'other requests are answered');
  own[0]?.cut();
  await until(async () => (await metric('sluice_live_streams')) === 3);
  const another = await token('--name', 'another');
  const others = [];
  for (let at = 0; at < 3; at++) others.push(await space.watch('', bearer(another)));
  await refused(await space.watch('', bearer(another)), /6 live queries of this process/);
  await refused(await space.watch(), /6 live queries of this process/);
  t.equal(await metric('sluice_live_streams'), 6);
  own[1]?.cut();
  await until(async () => (await metric('sluice_live_streams')) === 5);
  const instead = await space.watch();
  t.equal(instead.status, 200, 'a slot is free when its client has gone');
  await space.insert([{ n: 2 }]);
  for (const client of [...own.slice(2), ...others, instead]) await equalsFind(t, client, await space.find());
  for (const client of [...own, ...others, instead]) client.cut();
  await gone();
  // refused ones hold none
  for (let at = 0; at < 10; at++) t.equal((await space.watch('?$limit=1')).status, 413);
  t.equal((await space.watch()).status, 200);
});

t.test('a token that is revoked, or may not find', async (t) => {
  const space = spaceOf(t, 'revoked');
  await space.insert([{ n: 1 }]);
  const text = await token('--name', 'short');
  const client = await space.watch('', bearer(text));
  const stays = await space.watch();
  await token('--revoke', text);
  await client.ended();
  t.match(client.text, /retry: \d+\n: [a-z_]+\n:\n$/);
  t.equal(await client.comeBack(sluice.baseUrl), 401);
  await space.insert([{ n: 2 }]);
  await equalsFind(t, stays, await space.find());
  const inserter = await token('--may', 'insert');
  t.equal((await space.watch('', bearer(inserter))).status, 403);
  stays.cut();
  await gone();
});

t.test('an address for those who send no headers', async (t) => {
  const space = spaceOf(t, 'address');
  const other = spaceOf(t, 'elsewhere');
  await space.insert([
    { name: 'a', n: 1 },
    { name: 'b', n: 2 },
  ]);
  await other.insert([{ n: 1 }]);
  const { address, expiresAt } = await space.send('/_live_', { n: { gte: 2 }, $select: ['n'] });
  t.ok(Date.parse(expiresAt) > Date.parse((await space.find())[0]?.createdAt as string));
  t.match(address, /^\/live\/address\/_live_\?key=[\w-]+$/);
  const bare = async (path: string, lastEventId = '') => {
    const client = new LiveClient({ path });
    t.teardown(() => client.cut());
    const status = await client.open(sluice.baseUrl, lastEventId);
    if (status === 200) await client.ready();
    else await client.ended();
    return client;
  };
  const client = await bare(address);
  await space.insert([{ name: 'c', n: 3 }]);
  await equalsFind(t, client, await space.find('?n[gte]=2&$select=n'));
  client.cut();
  await space.insert([{ name: 'd', n: 4 }]);
  const { lastEventId } = client;
  t.strictSame((await bare(address, lastEventId)).types(), ['enter', 'ready']);
  const again = await bare(`${address}&lastEventId=${lastEventId}`);
  t.strictSame(again.types(), ['enter', 'ready'], 'a place in the address');
  const key = address.split('key=')[1] as string;
  const changed = `${key.startsWith('A') ? 'B' : 'A'}${key.slice(1)}`;
  const wrong = [changed, key.slice(0, -4), '', 'x'.repeat(100), `${key.slice(0, 60)}AAAA${key.slice(64)}`];
  for (const text of wrong) t.equal((await bare(`${space.path}/_live_?key=${text}`)).status, 401, text);
  t.equal((await bare(`${space.path}/_live_`)).status, 401);
  t.equal((await bare(`${other.path}/_live_?key=${key}`)).status, 401, 'of another space');
  const refused = { ...sluice, path: `${space.path}/_live_`, structure: space.structure };
  t.match(await call({ ...refused, body: { $sort: 'n' } }), {
    status: 400,
    body: { code: 'invalid_options' },
  });
  const long = { name: { in: Array.from({ length: 1000 }, (_, n) => `name ${n}`) } };
  t.match(await call({ ...refused, body: long }), { status: 400 }, 'too long for an address');
  t.match(await call({ ...refused, token: 'none', body: {} }), { status: 401 });
  again.cut();
});

t.test('a server that stops sends its streams away', async (t) => {
  await gone();
  const space = spaceOf(t, 'stopped');
  await space.insert([{ n: 1 }]);
  const clients = await Promise.all([space.watch(), space.watch('?n=1'), space.watch('?n=2')]);
  // one that takes nothing, behind more than sockets hold
  for (let at = 0; at < 2; at++)
    await space.insert(Array.from({ length: 2000 }, (_, n) => ({ name: 'x'.repeat(5000), n: 10 + n })));
  const stalled = space.client('?$limit=9000');
  await stalled.open(sluice.baseUrl);
  stalled.pause();
  await sleep(1000);
  // at the drain timeout it would end anyway, but that is an hour
  t.equal(await sluice.stop(), 0);
  for (const client of clients) {
    await client.ended();
    t.match(client.text, /retry: \d{4,}\n: the server stops\n:\n$/);
  }
});
