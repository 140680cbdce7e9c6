/** Random writes of several writers in two processes: what their listeners are told makes what the table has. */
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { openLivePair } from '../services/live-pair.ts';
import { type LiveStore, newRecord, newSpace, sorted } from '../services/live-stores.ts';
import { randomFrom } from '../services/random-from.ts';
import { startClickhouse } from '../services/start-clickhouse.ts';
import { seed, sized } from '../services/test-size.ts';

t.setTimeout(300_000);
const clickhouse = await startClickhouse();
const { redis, one, two, freeze } = await openLivePair(t, clickhouse);

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
      // a Redis that answers late is one that is away
      if (isTroubled) t.ok(mirror.resets > 0);
      mirror.stop();
    }
  }
});
