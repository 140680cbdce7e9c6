/** Random writes of several writers in two processes: what their listeners are told makes what the table has. */
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { migrate } from '../../common/metadata/migrate.ts';
import { migrations } from '../../common/metadata/migrations.ts';
import type { RecordSpace } from '../../query/structure/record-space.ts';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { LiveStore, newRecord, newSpace, sorted } from '../services/live-stores.ts';
import { startRestrictedRedis } from '../services/redis-rights.ts';
import { startClickhouse } from '../services/start-clickhouse.ts';
import { startTcpProxy } from '../services/tcp-proxy.ts';
import { openTestClickhouse } from '../services/test-clickhouse.ts';
import { seed, sized } from '../services/test-size.ts';

t.setTimeout(300_000);
const clickhouse = await startClickhouse();
const redis = await startRestrictedRedis();
const config = { ...redis.config, ...redis.user };
const proxy = await startTcpProxy({ target: redis.config });
const db = openTestClickhouse({ url: clickhouse.url });
await migrate(db, 'sluice', migrations);
const one = await LiveStore.open(db, config);
// the second process reaches Redis over a line that can be cut
const two = await LiveStore.open(db, { ...config, port: proxy.port });
t.teardown(async () => {
  for (const each of [one, two]) await each.close();
  await redis.stop();
  await proxy.close();
  await db.close();
  await clickhouse.close();
});
const freeze = (frozen: boolean): void => {
  for (const direction of ['toClient', 'toTarget'] as const) proxy.set(direction, { frozen });
};

/** mulberry32 */
function randomFrom(state: number): () => number {
  let at = state;
  return () => {
    at = (at + 0x6d2b79f5) | 0;
    let mixed = Math.imul(at ^ (at >>> 15), 1 | at);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Writes of any kind. @param rewrites share of those of all records */
async function writeSome(
  by: LiveStore,
  space: RecordSpace,
  {
    ids,
    random,
    rewrites,
  }: { readonly ids: string[]; readonly random: () => number; readonly rewrites: number },
): Promise<void> {
  for (let made = 0; made < sized(300, 60); made++) {
    const choice = random();
    const id = ids[Math.floor(random() * ids.length)];
    const age = Math.floor(random() * 1000);
    if (choice > 1 - rewrites) await by.rewrite(space, age);
    else if (choice < 0.3 || id === undefined) {
      const records = Array.from({ length: choice < 0.02 ? 300 : 1 }, () => newRecord(age));
      // others change them before their insert has ended
      ids.push(...records.slice(0, 3).map((record) => record.id));
      await by.insert(space, ...records);
    } else await by.change(space, id, choice < 0.8 ? age : null);
  }
}

t.test('random writes of several writers in two processes', async (t) => {
  for (const isTroubled of [false, true]) {
    const space = newSpace();
    const mirrors = [await one.mirror(space), await two.mirror(space)];
    const ids: string[] = [];
    const writers = [one, two, one, two].map((by, number) =>
      writeSome(by, space, { ids, random: randomFrom(seed + number), rewrites: isTroubled ? 0.02 : 0 }),
    );
    if (isTroubled) {
      await sleep(200);
      freeze(true);
      await sleep(500);
      freeze(false);
      await redis.kill();
      await sleep(300);
      await redis.start();
    }
    await Promise.all(writers);
    for (const mirror of mirrors) {
      await eventuallyEqual(t, () => mirror.content, sorted(await one.ages(space)));
      t.comment(
        `${mirror.told.length} changes told, ${mirror.resets} resets, ${mirror.content.length} records`,
      );
      t.ok(mirror.told.length > 100);
      t.equal(mirror.resets > 0, isTroubled);
      mirror.stop();
    }
  }
});
