/** Spaces whose records are brought into memory because they are looked up again and again. */
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { Database } from '#engine/database.ts';
import { MemoryTables } from '#records/memory/memory-tables.ts';
import { KnownRecords } from '#records/store-embedded/known-records.ts';
import { openQueryHarness, type QueryCall, spaceOf } from '../services/query-harness.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';

const fields = fieldsOf('email TEXT unique, value NUMBER, about TEXT');
const emailOf = (index: number): string => `é-${index}@x`;
const recordsOf = (count: number, about = 'text') =>
  Array.from({ length: count }, (_, index) => ({ email: emailOf(index), value: index, about }));

const isPreload = ({ sql, format }: { sql: string; format?: string }): boolean =>
  format === 'RowBinary' && sql.includes('_doc');

/** Watches statements, and holds preloads back while it is told to. */
class Watch {
  preloads = 0;
  readonly lookups: string[] = [];
  /** While it is set a preload that has begun gets no row. */
  gate: Promise<void> = Promise.resolve();
  open: () => void = () => {};
  running = 0;
  most = 0;

  hold(): void {
    this.gate = new Promise((resolve) => {
      this.open = resolve;
    });
  }

  wrap(db: Database): Database {
    const watch = this;
    return {
      ...db,
      rows(statement) {
        if (statement.sql.startsWith('SELECT toString(space)')) watch.lookups.push(statement.sql);
        return db.rows(statement);
      },
      async stream(statement) {
        const pieces = await db.stream(statement);
        return isPreload(statement) ? watch.#held(pieces) : pieces;
      },
    };
  }

  async *#held(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    this.preloads++;
    this.most = Math.max(this.most, ++this.running);
    try {
      await this.gate;
      yield* pieces;
    } finally {
      this.running--;
    }
  }
}

interface Options {
  readonly known?: KnownRecords;
  readonly cacheBytes?: number;
  readonly fewestMisses?: number;
}

async function open(t: Test, { known, cacheBytes = 8e6, fewestMisses = 4 }: Options = {}) {
  const watch = new Watch();
  const harness = await openQueryHarness({
    singleWriter: true,
    wrap: (db) => watch.wrap(db),
    // results are not what is tested
    resultBytes: 0,
    pending: { cacheBytes, fewestMisses, ...(known === undefined ? {} : { known }) },
  });
  t.teardown(() => {
    watch.open();
    return harness.close();
  });
  const spaceAt = (slug: string, owner = 'owner') =>
    spaceOf({ call: (call: QueryCall) => harness.call({ ...call, owner }) }, 'p', slug, fields);
  return { harness, watch, spaceAt };
}

type Space = ReturnType<typeof spaceOf>;

async function fill(space: Space, count = 300, about?: string): Promise<readonly { id: string }[]> {
  const { status, body } = await space.insert(recordsOf(count, about));
  if (status !== 200) throw new Error(`filling: ${status}`);
  return body as { id: string }[];
}

const byEmail = async (space: Space, index: number) =>
  (await space.findOne([['email', emailOf(index)]])).body;

/** Asks until a preload has begun. @param first values from which on nothing was asked for */
async function provoke(space: Space, watch: Watch, first = 0): Promise<void> {
  const before = watch.preloads;
  for (let index = first; watch.preloads === before && index < first + 50; index++) {
    await byEmail(space, index);
    await sleep(5);
  }
  if (watch.preloads === before) throw new Error('no preload has begun');
}

async function finished(watch: Watch): Promise<void> {
  watch.open();
  while (watch.running > 0) await sleep(5);
  await sleep(20);
}

t.test('a space that is looked up again and again is answered from memory', async (t) => {
  const { watch, spaceAt } = await open(t);
  const space = spaceAt('often');
  const stored = await fill(space, 3000, 'ü'.repeat(200));
  await provoke(space, watch);
  await finished(watch);
  watch.lookups.length = 0;
  for (let index = 0; index < 3000; index += 7) {
    const { id } = stored[index] as { id: string };
    const wanted = { id, email: emailOf(index), value: index, about: 'ü'.repeat(200) };
    t.match(await byEmail(space, index), wanted);
    t.strictSame((await space.findOne([['id', id]])).body, stored[index], 'the same by its id');
  }
  t.strictSame(watch.lookups, []);
  t.equal(await byEmail(space, 100_000), null);
  t.strictSame(watch.lookups, [], 'a value that nobody ever wrote needs no look either');
  t.equal(watch.preloads, 1);
});

t.test('a preload does not wait behind the finds that it is to replace', async (t) => {
  const { harness, watch, spaceAt } = await open(t, { fewestMisses: 4 });
  const space = spaceAt('s');
  await fill(space);
  harness.forget();
  for (let index = 0; index < 3; index++) await byEmail(space, index);
  t.equal(watch.preloads, 0);
  const controller = new AbortController();
  const sql = 'SELECT sum(cityHash64(number)) FROM numbers(60000000000)';
  const finds = Array.from({ length: 12 }, () =>
    harness.db.stream({ sql, signal: controller.signal, account: 'owner', format: 'TSVRaw' }),
  );
  const ended = Promise.allSettled(finds);
  const last = byEmail(space, 3);
  for (let waits = 0; watch.preloads === 0 && waits < 500; waits++) await sleep(20);
  t.equal(watch.preloads, 1);
  controller.abort(new Error('gone'));
  await Promise.all([ended, last]);
});

t.test('what is written while a preload reads is not overwritten by it', async (t) => {
  const { harness, watch, spaceAt } = await open(t);
  const space = spaceAt('written');
  const ids = (await fill(space)).map(({ id }) => id) as [string, string, string, string];
  // one that is not in the table yet when the reading begins
  await space.updateOneById(ids[3], { value: -3 });
  watch.hold();
  await provoke(space, watch, 10);
  await space.updateOneById(ids[0], { value: -1 });
  await space.updateOneById(ids[1], { email: 'another@x' });
  await space.deleteOneById(ids[2]);
  const check = async (when: string): Promise<void> => {
    t.equal((await byEmail(space, 0)).value, -1, when);
    t.equal((await space.findOne([['id', ids[1]]])).body.email, 'another@x', when);
    t.equal(await byEmail(space, 1), null, when);
    t.equal((await space.findOne([['email', 'another@x']])).body.id, ids[1], when);
    t.equal(await byEmail(space, 2), null, when);
    t.equal((await space.findOne([['id', ids[2]]])).body, null, when);
    t.equal((await byEmail(space, 3)).value, -3, when);
  };
  await check('while it reads');
  // all of it comes into the table
  t.equal((await space.find('value=-1')).body.length, 1);
  await check('while it reads, and the table has it');
  await finished(watch);
  await check('after it');
  t.equal((await space.insertOne({ email: emailOf(2), value: 7 })).status, 200, 'the value is free');
  t.equal((await byEmail(space, 2)).value, 7);
  await harness.restart();
  t.equal((await byEmail(space, 2)).value, 7);
});

for (const [name, remove] of [
  ['a space that is cleared', (space: Space) => space.clear()],
  [
    'a space that is dropped',
    (_: Space, call: (call: QueryCall) => Promise<unknown>) =>
      call({ method: 'DELETE', path: '/_projects_/p/spaces/gone' }),
  ],
  [
    'a project that is dropped',
    (_: Space, call: (call: QueryCall) => Promise<unknown>) =>
      call({ method: 'DELETE', path: '/_projects_/p' }),
  ],
] as const) {
  t.test(`a preload ends with ${name}`, async (t) => {
    const { harness, watch, spaceAt } = await open(t);
    const space = spaceAt('gone');
    const [first] = await fill(space);
    watch.hold();
    await provoke(space, watch);
    const removed = (await remove(space, (call) => harness.call(call))) as { status: number };
    t.ok(removed.status < 300, `${removed.status}`);
    await finished(watch);
    t.equal(await byEmail(space, 0), null);
    t.equal((await space.findOne([['id', first?.id as string]])).body, null);
    t.equal((await space.insertOne({ email: emailOf(0), value: 5 })).status, 200);
    t.equal((await byEmail(space, 0)).value, 5);
  });
}

t.test('with RECORD_CACHE_BYTES=0, nothing is preloaded', async (t) => {
  const { watch, spaceAt } = await open(t, { cacheBytes: 0, fewestMisses: 1 });
  const space = spaceAt('never');
  await fill(space);
  for (let index = 0; index < 20; index++) t.equal((await byEmail(space, index)).value, index);
  t.equal(watch.preloads, 0);
});

t.test('a space that does not fit is left alone', async (t) => {
  const { watch, spaceAt } = await open(t, { cacheBytes: 200_000, fewestMisses: 1 });
  const space = spaceAt('large');
  await fill(space, 3000);
  for (let index = 0; index < 20; index++) t.equal((await byEmail(space, index)).value, index);
  t.equal(watch.preloads, 0);
});

t.test('what is preloaded takes no more than it may, and drops nothing that is in use', async (t) => {
  const known = new KnownRecords(new MemoryTables(160_000));
  const { watch, spaceAt } = await open(t, { known, fewestMisses: 1 });
  const slugs = ['one', 'two', 'three', 'four'];
  for (const slug of slugs) await fill(spaceAt(slug), 400);
  for (const slug of slugs) {
    for (let index = 0; index < 10; index++) {
      t.equal((await byEmail(spaceAt(slug), index)).value, index);
      await sleep(5);
    }
    t.ok(known.tables.bytes <= 160_000, `${known.tables.bytes} bytes`);
  }
  t.ok(watch.preloads >= 1 && watch.preloads < slugs.length, `${watch.preloads} preloads`);
  watch.lookups.length = 0;
  for (let index = 0; index < 400; index++) await byEmail(spaceAt('one'), index);
  t.strictSame(watch.lookups, [], 'the first one is still there');
});

t.test('two accounts with the same slugs share no record, and preload one after the other', async (t) => {
  const { watch, spaceAt } = await open(t);
  const [mine, yours] = [spaceAt('same', 'me'), spaceAt('same', 'you')];
  await fill(mine, 300, 'mine');
  await fill(yours, 250, 'yours');
  watch.hold();
  await provoke(mine, watch);
  for (let index = 0; index < 20; index++) t.equal((await byEmail(yours, index)).about, 'yours');
  t.equal(watch.preloads, 1);
  await finished(watch);
  await provoke(yours, watch, 20);
  await finished(watch);
  t.equal(watch.most, 1);
  watch.lookups.length = 0;
  for (let index = 0; index < 250; index++) {
    t.equal((await byEmail(mine, index)).about, 'mine');
    t.equal((await byEmail(yours, index)).about, 'yours');
  }
  t.equal((await byEmail(mine, 250)).about, 'mine');
  t.equal(await byEmail(yours, 250), null);
  t.strictSame(watch.lookups, []);
});

t.test('a process stops while it preloads', async (t) => {
  const { harness, watch, spaceAt } = await open(t);
  const space = spaceAt('stopped');
  await fill(space);
  watch.hold();
  await provoke(space, watch);
  const restarted = harness.restart();
  watch.open();
  await restarted;
  t.equal((await byEmail(space, 0)).value, 0);
});

t.test('a space that was held while it was empty has the records that it begins with later', async (t) => {
  const { harness, watch, spaceAt } = await open(t, { fewestMisses: 1 });
  const space = spaceAt('begins');
  await space.make();
  while (watch.preloads === 0) {
    await space.find([['about', 'x']]);
    await sleep(5);
  }
  await finished(watch);
  const initialData = recordsOf(3);
  const structure = structureOf('p', 'begins', fields, { initialData });
  await spaceOf(harness, 'p', 'begins', structure).make();
  t.match((await space.find()).body, initialData);
  t.match(await byEmail(space, 1), initialData[1]);
});
