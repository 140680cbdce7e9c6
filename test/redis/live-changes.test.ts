/** A listener of one process hears what the writes of all do, and what it may have missed it reads anew. */
import t, { type Test } from 'tap';
import type { WriteSummary } from '#records/store/statement-writes.ts';
import { keysOf } from '#records/store-shared/redis-versions.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { openLivePair } from '../services/live-pair.ts';
import { LiveStore, type Mirror, newRecord, newSpace, readAtOnce, sorted } from '../services/live-stores.ts';
import { plainStore } from '../services/plain-store.ts';
import { rejectionOf } from '../services/rejection-of.ts';
import { startFaultyClickhouse } from '../services/start-faulty-clickhouse.ts';

t.setTimeout(300_000);
const clickhouse = await startFaultyClickhouse();
const { redis, config, db, one, two, freeze } = await openLivePair(t, clickhouse);
const { signal } = new AbortController();

/** In the end the listener has what the table has. */
async function follows(t: Test, mirror: Mirror, space: RecordSpace, message?: string): Promise<void> {
  await eventuallyEqual(t, () => mirror.content, sorted(await one.ages(space)), message);
}
async function untilReset(t: Test, mirror: Mirror, before = 0): Promise<void> {
  await eventuallyEqual(t, () => mirror.resets > before, true, 'it reads all anew');
}

t.test('what is inserted, changed and removed, by each process', async (t) => {
  const space = newSpace();
  const mirrors = [await one.mirror(space), await two.mirror(space)];
  const [first, second] = [newRecord(1), newRecord(2)];
  for (const [write, wanted] of [
    [() => one.insert(space, first), [first.id, null, '1']],
    [() => two.change(space, first.id, 5), [first.id, undefined, '5']],
    [() => two.insert(space, second), [second.id, null, '2']],
    [() => one.change(space, first.id, null), [first.id, undefined, undefined]],
    [() => one.change(space, 'nobody', 3), ['nobody', undefined, undefined]],
  ] as const) {
    const told = mirrors[0]?.told.length ?? 0;
    await write();
    for (const mirror of mirrors) {
      await eventuallyEqual(t, () => mirror.told.length, told + 1);
      const { id, before, after } = mirror.told.at(-1) ?? {};
      t.strictSame([id, before, after?._doc.n0], wanted);
    }
  }
  for (const mirror of mirrors) {
    await follows(t, mirror, space);
    t.equal(mirror.resets, 0);
    mirror.stop();
  }
});

t.test('many records are told, and of more it is told that they are many', async (t) => {
  const space = newSpace();
  const mirror = await one.mirror(space);
  await two.insert(space, ...Array.from({ length: 1000 }, (_, age) => newRecord(age)));
  await eventuallyEqual(t, () => mirror.told.length, 1000);
  t.equal(mirror.resets, 0);
  await two.insert(space, ...Array.from({ length: 1001 }, (_, age) => newRecord(age)));
  await untilReset(t, mirror);
  await follows(t, mirror, space);
  t.equal(mirror.told.length, 1000);
  mirror.stop();
});

t.test('a rewrite, and another structure: all is read anew', async (t) => {
  const space = newSpace();
  const mirror = await one.mirror(space);
  await two.insert(space, newRecord(1), newRecord(2));
  await two.rewrite(space, 7);
  await untilReset(t, mirror);
  await follows(t, mirror, space);
  const before = mirror.resets;
  await two.store.invalidate(space.id);
  await untilReset(t, mirror, before);
  mirror.stop();
});

t.test('a listener that begins while a write is under way hears of it', async (t) => {
  const space = newSpace();
  let end = (): void => {};
  const held = new Promise<void>((resolve) => {
    end = resolve;
  });
  const slow = await LiveStore.open(db, config, {
    wrap: (versions) => ({
      read: (id) => versions.read(id),
      async begin(id) {
        const ended = await versions.begin(id);
        return (written) => held.then(() => ended(written));
      },
    }),
  });
  t.teardown(() => slow.close());
  const record = newRecord(1);
  const writing = slow.insert(space, record);
  await eventuallyEqual(t, async () => (await one.ages(space)).size, 1);
  const mirror = await one.mirror(space);
  t.strictSame(mirror.told, []);
  end();
  await writing;
  await eventuallyEqual(t, () => mirror.told.map(({ id }) => id), [record.id]);
  mirror.stop();
});

t.test('after the stop function nothing is told, and writers soon tell nothing', async (t) => {
  const space = newSpace();
  const [mirror, other] = [await one.mirror(space), await two.mirror(space)];
  mirror.stop();
  await one.insert(space, newRecord(1));
  await eventuallyEqual(t, () => other.told.length, 1);
  t.strictSame([mirror.told.length, mirror.resets], [0, 0]);
  other.stop();
  const [, , changes] = keysOf(space.id);
  t.ok(Number(await redis.command('PTTL', changes)) <= 10_000);
  await redis.command('DEL', changes);
  await one.insert(space, newRecord(2));
  t.equal(await redis.command('EXISTS', changes), 0);
  const again = await one.mirror(space);
  t.equal(again.content.length, 2);
  await two.insert(space, newRecord(3));
  await follows(t, again, space);
  again.stop();
});

t.test('Redis away, and back with nothing', async (t) => {
  const space = newSpace();
  const mirror = await one.mirror(space);
  await redis.kill();
  t.match(await rejectionOf(two.store.listen(space.id, mirror, signal)), {
    status: 503,
    code: 'unavailable',
  });
  await two.insert(space, newRecord(1));
  await redis.start();
  await untilReset(t, mirror);
  await follows(t, mirror, space);
  await two.insert(space, newRecord(2));
  await follows(t, mirror, space, 'and it goes on');
  mirror.stop();
});

t.test('Redis loses what was told', async (t) => {
  const space = newSpace();
  const mirror = await one.mirror(space);
  await two.insert(space, newRecord(1));
  await follows(t, mirror, space);
  for (const command of ['FLUSHALL', 'DEL']) {
    const before = mirror.resets;
    await redis.command(command, ...(command === 'DEL' ? [keysOf(space.id)[2]] : []));
    await two.insert(space, newRecord(2));
    await untilReset(t, mirror, before);
    await follows(t, mirror, space);
  }
  mirror.stop();
});

t.test('a replica takes over that does not know all', async (t) => {
  const space = newSpace();
  const mirror = await two.mirror(space);
  await one.insert(space, newRecord(1));
  await follows(t, mirror, space);
  const [, , key] = keysOf(space.id);
  const known = (await redis.command('LRANGE', key, 0, -1)) as string[];
  freeze(true);
  await one.insert(space, newRecord(2));
  await redis.kill();
  await redis.start();
  await redis.command('RPUSH', key, ...known);
  freeze(false);
  await untilReset(t, mirror);
  await follows(t, mirror, space);
  mirror.stop();
});

t.test('a listener that is slow hears what is kept, and of more that it was more', async (t) => {
  const space = newSpace();
  const mirror = await one.mirror(space);
  const endTogether = async (written: WriteSummary): Promise<void> => {
    const ends = await Promise.all(Array.from({ length: 1000 }, () => two.versions.begin(space.id)));
    await Promise.all(ends.map((end) => end(written)));
  };
  for (const [times, resets] of [
    [4, 0],
    [6, 1],
  ] as const) {
    clickhouse.fault({ match: /^SELECT toString\(space\) AS _space/, action: { kind: 'hold' } });
    await two.insert(space, newRecord(1));
    await clickhouse.untilHeld(1);
    for (let i = 0; i < times; i++) await endTogether({ ids: [`${i}`], areNew: false });
    const last = newRecord(2);
    await two.insert(space, last);
    clickhouse.release();
    await follows(t, mirror, space);
    t.equal(mirror.resets, resets);
    const told = new Set(mirror.told.map(({ id }) => id));
    t.strictSame([told.has('0'), told.has('3')], [true, true]);
    t.notOk(told.has('5'));
  }
  mirror.stop();
});

t.test('a writer without Redis', async (t) => {
  const space = newSpace();
  const mirror = await one.mirror(space);
  freeze(true);
  await two.insert(space, newRecord(1));
  freeze(false);
  await untilReset(t, mirror);
  await follows(t, mirror, space);
  const { length } = mirror.told;
  const record = newRecord(2);
  await two.insert(space, record);
  await eventuallyEqual(t, () => mirror.told.slice(length).some(({ id }) => id === record.id), true);
  mirror.stop();
});

t.test('a writer that died before it told what it did', async (t) => {
  const dying = await LiveStore.open(db, config, {
    times: { writerLifetime: 500, renewEvery: 3_600_000 },
    wrap: (versions) => ({
      read: (id) => versions.read(id),
      begin: (id) => versions.begin(id).then(() => () => new Promise<never>(() => {})),
    }),
  });
  t.teardown(() => dying.close());
  const space = newSpace();
  const mirror = await one.mirror(space);
  void dying.insert(space, newRecord(1));
  await untilReset(t, mirror);
  await follows(t, mirror, space);
  mirror.stop();

  // the beginning of another write finds it, too
  const patient = await LiveStore.open(db, config, { poll: 3_600_000 });
  t.teardown(() => patient.close());
  const other = newSpace();
  const late = await patient.mirror(other);
  while (late.told.length === 0) await two.insert(other, newRecord(1));
  void dying.insert(other, newRecord(2));
  const [, writers] = keysOf(other.id);
  await eventuallyEqual(t, () => redis.command('ZCARD', writers), 1);
  await eventuallyEqual(t, () => redis.command('ZCOUNT', writers, Date.now(), '+inf'), 0);
  t.equal(late.resets, 0);
  await two.insert(other, newRecord(3));
  await untilReset(t, late);
  await follows(t, late, other);
});

t.test('a write whose outcome its process does not know', async (t) => {
  const space = newSpace();
  const record = newRecord(1);
  await one.insert(space, record);
  const mirror = await one.mirror(space);
  clickhouse.fault({ match: /^UPDATE/, action: { kind: 'cut-after' } });
  await two.change(space, record.id, 9).catch(() => {});
  await eventuallyEqual(t, () => mirror.content, [[record.id, '9']]);
  t.equal(clickhouse.struck.get('cut-after'), 1);
  mirror.stop();
});

t.test('changed records that can not be read', async (t) => {
  const space = newSpace();
  const mirror = await one.mirror(space);
  clickhouse.match = /^SELECT toString\(space\) AS _space/;
  await clickhouse.set({ kind: 'status', status: 500, body: 'no' });
  await two.insert(space, newRecord(1));
  await untilReset(t, mirror);
  await clickhouse.set(null);
  await follows(t, mirror, space);
  await two.insert(space, newRecord(2));
  await follows(t, mirror, space, 'and it goes on');
  mirror.stop();
});

t.test('a process without Redis, or with several servers, does not listen', async (t) => {
  const mirror = { changed() {}, exclusive: readAtOnce, reset() {} };
  const error = await rejectionOf(plainStore(db).listen('space', mirror, signal));
  t.match(error, { status: 501, code: 'not_implemented' });
});
