/** Rows and indexes in memory take no more than they may, whoever asks for what. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import { createUuidV7 } from '#kernel/ids/uuid-v7.ts';
import type { IndexShape } from '#records/memory/index-shape.ts';
import { MemoryTables } from '#records/memory/memory-tables.ts';
import { textOrder } from '#records/types/value-order.ts';
import { seededRandom } from '../services/s3-stub/seeded-random.ts';
import { seed, sized } from '../services/test-size.ts';

const mebibyte = 1024 * 1024;
const limit = 48 * mebibyte;
const spaces = 1000;
const records = 300;
const requests = sized(1_000_000, 300_000);
const orders = [
  { by: 'id', kind: 'id' },
  { by: 'createdAt', kind: 'time' },
  { by: 't0', kind: textOrder },
  { by: 't3', kind: textOrder },
] as const;
const time = '2026-01-01T00:00:00.000Z';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const allocated = async () => {
  // what is freed is given back by other threads
  for (let times = 0; times < 3; times++) {
    collect();
    await nextTurn();
  }
  return process.memoryUsage();
};

t.test(`${requests} requests of random shapes over 1,000 spaces`, { timeout: 300_000 }, async (t) => {
  const random = seededRandom(seed);
  const below = (end: number): number => Math.floor(random() * end);
  const newId = createUuidV7();
  const before = await allocated();
  const tables = new MemoryTables(limit);
  const row = () => {
    const values = Array.from({ length: 6 }, (_, slot) => [`t${slot}`, `value ${below(50)} of ${slot}`]);
    return { _id: newId(), _created_at: time, _updated_at: time, _doc: Object.fromEntries(values) };
  };
  const load = (space: number): void => {
    const into = tables.begin(`space-${space}`, `account-${space % 20}`, ['t0']);
    if (into === null) return;
    for (let i = 0; i < records; i++) {
      const made = row();
      tables.written(`space-${space}`, made._id, made);
    }
    into.end();
    into.giveUp();
  };
  const shape = (): IndexShape => ({
    slots: [...new Set(Array.from({ length: 1 + below(3) }, () => `t${below(6)}`))].sort(),
    order: { ...(orders[below(4)] as (typeof orders)[number]), descending: random() < 0.5, next: null },
  });
  let most = 0;
  let loads = 0;
  let indexes = 0;
  for (let request = 0; request < requests; request++) {
    const space = below(spaces);
    if (tables.find(`space-${space}`) !== null) tables.missed(`space-${space}`, [shape()]);
    else if (request % 200 === 0 && ++loads > 0) load(space);
    most = Math.max(most, tables.bytes);
    if (request % 1000 === 0) await nextTurn();
    if (request % 50_000 === 0) indexes = Math.max(indexes, tables.indexes);
  }
  t.ok(most <= limit, `${most} bytes counted`);
  t.ok(most > limit * 0.9, 'and what there is was used');
  t.ok(loads > requests / 1000, `${loads} tables were read`);
  t.ok(indexes > requests / 1000, `${indexes} indexes at once`);
  const after = await allocated();
  const rows = after.arrayBuffers - before.arrayBuffers;
  const others = after.heapUsed - before.heapUsed;
  const inMebibytes = `${Math.round(rows / mebibyte)} MiB of rows and indexes, ${Math.round(others / mebibyte)} beside them`;
  t.ok(rows + others < limit * 1.15, inMebibytes);
  t.comment(inMebibytes);
});
