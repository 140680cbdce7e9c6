/**
 * Random writes beside live queries whose clients are cut, come back and read slowly, and a server that is killed: what clients
 * have is what a find answers. With SLUICE_TEST_SERVED=1 it is one of ClickHouse and Redis.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { liveSpace } from '../services/live-spaces.ts';
import { type WatchedFind, WatchingClient } from '../services/live-watchers.ts';
import { LiveWriters, randomOf, writtenFields } from '../services/live-writers.ts';
import { startRedis } from '../services/redis.ts';
import { startClickhouse } from '../services/start-clickhouse.ts';
import { type Sluice, sluiceFor } from '../services/start-sluice.ts';
import { seed, sized } from '../services/test-size.ts';
import { until } from '../services/worker-pids.ts';

const rounds = Number(process.env.ROUNDS ?? sized(8, 3));
const roundTime = Number(process.env.ROUND_MS ?? 5000);
const random = randomOf(seed);
t.setTimeout(300_000 + rounds * roundTime * 4);

const isServed = process.env.SLUICE_TEST_SERVED !== undefined;
const served = isServed ? { clickhouse: await startClickhouse(), redis: await startRedis() } : null;
t.teardown(async () => {
  await served?.clickhouse.close();
  await served?.redis.stop();
});
const env: Record<string, string> =
  served === null ? {} : { CLICKHOUSE_URL: served.clickhouse.url, REDIS_URL: served.redis.url };
let sluice: Sluice = await sluiceFor(t, { env: { ...env, READ_MAX_ROWS: '0' } });
/** Resolves when the server is there. */
let up: Promise<unknown> = Promise.resolve();
let kills = 0;

const space = liveSpace(t, () => sluice, 'oracle', writtenFields);
const isOf = (...groups: readonly number[]) => groups.map(Number);
const finds: readonly WatchedFind[] = [
  { query: '', isIn: () => true },
  { query: '?$limit=9999', isIn: () => true, isSlow: true },
  { query: '?group=1', isIn: ({ group }) => group === 1 },
  { query: '?group[in]=2&group[in]=3', isIn: ({ group }) => isOf(2, 3).includes(group as number) },
  {
    query: '?n[gte]=50&word[contains]=a&$select=n,word,version',
    isIn: ({ n, word }) => (n as number) >= 50 && String(word ?? '').includes('a'),
    isPart: true,
  },
  {
    query: '?$or[0][group]=0&$or[1][tags][has]=x',
    isIn: ({ group, tags }) => group === 0 || (tags as string[]).includes('x'),
  },
  { query: '?word[exists]=false&on=true', isIn: ({ word, on }) => word === null && on === true },
  { query: '?kind=up', isIn: ({ kind }) => kind === 'up', isSlow: true },
];

async function restart(): Promise<void> {
  await sluice.kill();
  kills++;
  await sleep(random(500));
  sluice = await sluice.restart();
}

t.test('what clients have is what a find answers', async (t) => {
  await space.insert([{ kind: 'first', version: 1, tags: [] }]);
  const probe = await space.watch();
  if (probe.status === 501) return t.comment('this store tells nobody of its changes');
  probe.cut();
  const writers = new LiveWriters({ space, random, isUp: () => up });
  const seen = new Map<string, string>();
  const clients = finds.map(
    (find) => new WatchingClient({ find, space, random, seen, server: () => sluice }),
  );
  let comparisons = 0;
  for (let round = 0; round < rounds; round++) {
    const stopWriters = writers.begin(4);
    const stopClients = clients.map((client) => client.begin(() => up));
    await sleep(roundTime / 2);
    if (round % 2 === 1) up = restart();
    await sleep(roundTime / 2);
    await up;
    await stopWriters();
    for (const stop of stopClients) await stop();
    for (const client of clients) {
      comparisons++;
      const difference = await client.difference();
      t.equal(difference, '', `round ${round}: ${client.find.query}`);
    }
    t.strictSame(writers.odd.splice(0), []);
    for (const client of clients) t.strictSame(client.problems.splice(0), [], client.find.query);
  }
  const wrong = [...writers.acknowledged].filter(([key, text]) => (seen.get(key) ?? text) !== text);
  t.strictSame(wrong.slice(0, 3), [], 'what was seen was acknowledged so');
  for (const client of clients) client.end();
  await until(async () => /^sluice_live_streams(?:{.*})? 0$/m.test(await metrics()));
  const sum = (of: (client: WatchingClient) => number) => clients.reduce((all, one) => all + of(one), 0);
  t.ok(sum(({ resumed }) => resumed) > 0, 'some went on where they were');
  const { size } = writers.acknowledged;
  t.comment(`seed ${seed}: ${rounds} rounds, ${kills} kills, ${comparisons} comparisons`);
  t.comment(`${JSON.stringify(writers.counts)}, ${size} acknowledged versions, ${seen.size} seen`);
  t.comment(
    `${sum(({ events }) => events)} events, ${sum(({ cuts }) => cuts)} cuts, ${sum(({ resumed }) => resumed)} resumed, ${sum(({ resets }) => resets)} resets`,
  );
});

async function metrics(): Promise<string> {
  return (await fetch(`${sluice.baseUrl}/metrics`)).text();
}
