/** A space is read into memory only when its table surely fits there: else the reading would begin again and again. */
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { Database } from '#engine/database.ts';
import { MemoryTables } from '#records/memory/memory-tables.ts';
import { KnownRecords } from '#records/store-embedded/known-records.ts';
import { queryHarnessFor, spaceOf } from '../services/query-harness.ts';

interface Shape {
  readonly unique: boolean;
  readonly records: readonly object[];
}

const shapes: Readonly<Record<string, Shape>> = {
  'few short values': { unique: false, records: Array.from({ length: 3000 }, (_, i) => ({ f0: `${i}` })) },
  'many unique values': {
    unique: true,
    records: Array.from({ length: 3000 }, (_, i) =>
      Object.fromEntries(Array.from({ length: 6 }, (_, at) => [`f${at}`, `${(i * 7919) % 3001}`])),
    ),
  },
  'later records that are larger': {
    unique: false,
    records: Array.from({ length: 3000 }, (_, i) => ({ f0: 'x'.repeat(i < 1500 ? 10 : 1000) })),
  },
  'each with little more than half of a slab': {
    unique: false,
    records: Array.from({ length: 12 }, () => ({ f0: 'x'.repeat(540_000) })),
  },
};

/** @returns how often the space was read, and what its table takes */
async function ask(t: Test, { unique, records }: Shape, bytes: number) {
  const known = new KnownRecords(new MemoryTables(bytes));
  let preloads = 0;
  const wrap = (db: Database): Database => ({
    ...db,
    stream(statement) {
      if (statement.account === 'preloads') preloads++;
      return db.stream(statement);
    },
  });
  const harness = await queryHarnessFor(t, {
    singleWriter: true,
    wrap,
    resultBytes: 0,
    pending: { known, fewestMisses: 50 },
  });
  const fields = Array.from({ length: 6 }, (_, at) => ({ name: `f${at}`, type: 'TEXT', unique }));
  const space = spaceOf(harness, 'p', 's', fields);
  for (let from = 0; from < records.length; from += 1000)
    t.equal((await space.insert(records.slice(from, from + 1000))).status, 200);
  // what is written is in the table after the first of them
  await space.find([['f5', 'x']], { sort: { by: 'f0', order: 'asc' } });
  for (let times = 0; times < 80; times++) {
    await space.find([['f0', `${times}`]]);
    await sleep(10);
  }
  return { preloads, held: known.tables.bytes };
}

for (const [name, shape] of Object.entries(shapes)) {
  let most = 0;
  t.test(`a space that fits: ${name}`, async (t) => {
    const { preloads, held } = await ask(t, shape, 1e9);
    t.equal(preloads, 1);
    // a sixteenth is for other things
    most = (held * 16) / 15;
  });
  t.test(`the same with a little less memory than it takes: ${name}`, async (t) => {
    t.equal((await ask(t, shape, most - 1000)).preloads, 0, `${Math.round(most / 1000)} KB`);
  });
}
