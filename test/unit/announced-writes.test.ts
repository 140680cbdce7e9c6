/** What webhooks hear of the writes of requests, and when: whichever operation makes them. */
import t from 'tap';
import type { RecordEvent } from '#kernel/record-events/record-event.ts';
import { AnnouncedWrites } from '#records/announced-writes.ts';
import { GatheredEvents } from '#records/gathered-events.ts';
import type { StoredRow } from '#records/sql/stored-row.ts';
import type { ChangeOutcome, RecordWrites } from '#records/store/record-store.ts';
import { createStructure } from '#records/structure/structure.ts';
import { spaceWith, storedStructure } from '../services/stored-structure.ts';

const { signal } = new AbortController();
const plain = storedStructure([{ name: 'n', type: 'NUMBER' }]);
const webhooks = { onInsertUrl: 'http://x/insert', onUpdateUrl: 'http://x/update' };
const hooked = spaceWith(createStructure({ ...plain, webhooks }));

const createdAt = '2026-01-01T00:00:00.000Z';
const rowOf = (id: string, n: number): StoredRow => ({
  _id: id,
  _created_at: createdAt,
  _updated_at: createdAt,
  _doc: { n0: String(n) },
});
const records = [1, 2].map((n) => ({ id: `id-${n}`, createdAt, values: [n] }));
const stepTo = (id: string) => ({ id, assignments: [{ slot: 'n0', value: 1 }] });
const removalOf = (id: string) => ({ id, assignments: null });

/** Writes that end as they are given. */
function open(rows: ChangeOutcome['rows'] = [], invalidated: ChangeOutcome['invalidated'] = null) {
  const made = Promise.resolve({ rows, invalidated });
  const writes: RecordWrites = { insert: () => made, change: () => made };
  const heard: (Omit<RecordEvent, 'records'> & { readonly ns: readonly number[] })[] = [];
  const events = {
    async publish({ records, ...event }: RecordEvent) {
      heard.push({ ...event, ns: [...records].map(({ json }) => JSON.parse(json).n) });
    },
  };
  return { made, writes, heard, events, announced: new AnnouncedWrites(writes, events) };
}

const insertion = { records, unique: [], signal, permit: null };

t.test('an address hears of new and of changed records, and of no removal', async (t) => {
  const { announced, heard } = open([rowOf('a', 5), null, rowOf('b', 6)]);
  await (await announced.insert({ ...insertion, space: hooked })).invalidated;
  const steps = ['a', 'gone', 'b'].map(stepTo);
  await (await announced.change({ space: hooked, steps, signal })).invalidated;
  const removed = await announced.change({ space: hooked, steps: ['a', 'gone', 'b'].map(removalOf), signal });
  t.equal(removed.invalidated, null);
  const of = { ownerId: 'owner', spaceId: hooked.id, project: 'p', space: 's' };
  t.strictSame(heard, [
    { ...of, type: 'record.inserted', url: 'http://x/insert', ns: [1, 2] },
    { ...of, type: 'record.updated', url: 'http://x/update', ns: [5, 6] },
  ]);
});

t.test('a write to a space without addresses is the very write of the store', async (t) => {
  const { announced, made, heard } = open([rowOf('a', 5)]);
  const space = spaceWith(plain);
  t.equal(announced.insert({ ...insertion, space }), made, 'not even a promise is added');
  t.equal(announced.change({ space, steps: [stepTo('a')], signal }), made);
  t.strictSame(heard, []);
});

t.test('one address of two is called', async (t) => {
  const { announced, heard } = open([rowOf('a', 5)]);
  const space = spaceWith(createStructure({ ...plain, webhooks: { ...webhooks, onInsertUrl: null } }));
  await (await announced.insert({ ...insertion, space })).invalidated;
  await (await announced.change({ space, steps: [stepTo('a')], signal })).invalidated;
  t.match(heard, [{ type: 'record.updated' }]);
  t.equal(heard.length, 1);
});

t.test('the stored addresses are called where a request names none', async (t) => {
  const { announced, heard } = open();
  const space = { ...hooked, structure: plain };
  await (await announced.insert({ ...insertion, space })).invalidated;
  t.match(heard, [{ url: 'http://x/insert' }]);
});

t.test('a write that fails calls nothing', async (t) => {
  const { heard, events } = open();
  const fails = async (): Promise<never> => {
    throw new Error('not made');
  };
  const announced = new AnnouncedWrites({ insert: fails, change: fails }, events);
  await t.rejects(announced.insert({ ...insertion, space: hooked }), { message: 'not made' });
  await t.rejects(announced.change({ space: hooked, steps: [stepTo('a')], signal }), { message: 'not made' });
  t.strictSame(heard, []);
});

t.test('nobody is called before other processes have dropped older data', async (t) => {
  let drop = (): void => {};
  const dropped = new Promise<void>((resolve) => {
    drop = resolve;
  });
  const { announced, heard } = open([], dropped);
  const { invalidated } = await announced.insert({ ...insertion, space: hooked });
  t.equal(heard.length, 0);
  drop();
  await invalidated;
  t.equal(heard.length, 1);
});

t.test('a write is not acknowledged when its call can not be stored', async (t) => {
  const { writes } = open([rowOf('a', 5)]);
  const fails = async (): Promise<never> => {
    throw new Error('not stored');
  };
  const announced = new AnnouncedWrites(writes, { publish: fails });
  const { invalidated } = await announced.change({ space: hooked, steps: [stepTo('a')], signal });
  await t.rejects(invalidated as Promise<void>, { message: 'not stored' });
  // its client has gone: an unhandled rejection would fail the test
  await announced.insert({ ...insertion, space: hooked });
  await new Promise((resolve) => setImmediate(resolve));
});

t.test('a record that is made while its client goes away is called about', async (t) => {
  const { announced, heard } = open();
  await announced.insert({ ...insertion, space: hooked, signal: AbortSignal.abort() });
  t.equal(heard.length, 1, 'a repeat with the same Idempotency-Key finds it stored, and calls nothing');
});

t.test('increments that share a write have a call each', async (t) => {
  const { announced, heard } = open([rowOf('a', 1), rowOf('a', 2), rowOf('a', 3)]);
  const steps = ['a', 'a', 'a'].map(stepTo);
  await (await announced.change({ space: hooked, steps, signal })).invalidated;
  t.strictSame(
    heard.map(({ ns }) => ns),
    [[1], [2], [3]],
  );
});

t.test('an upsert has its calls at its end, one of each kind', async (t) => {
  const { announced, heard, events } = open([rowOf('a', 5)]);
  const gathered = new GatheredEvents(events);
  const update = async () =>
    (await announced.change({ space: hooked, steps: [stepTo('a')], signal, events: gathered })).invalidated;
  await update();
  await (await announced.insert({ ...insertion, space: hooked, events: gathered })).invalidated;
  await update();
  t.equal(heard.length, 0);
  await gathered.end();
  t.match(heard, [
    { type: 'record.inserted', ns: [1, 2] },
    { type: 'record.updated', ns: [5, 5] },
  ]);
  await update();
  t.match(heard[2], { type: 'record.updated', ns: [5] }, 'a change that ends after a failure is not lost');
});
