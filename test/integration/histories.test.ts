/**
 * Concurrent writers and readers on few records: every request's start, end and answer is recorded, and each record's
 * history is checked for linearizability. Then the cache is broken on purpose, and the check has to find it.
 *
 *   HISTORY_OPERATIONS=100000 HISTORY_SEED=7 node --import tsx test/integration/histories.test.ts
 */
import t from 'tap';
import { type RecordEffect, ResultCache } from '../../query/records/result-cache.ts';
import { type RegisterOperation, registerProblem } from '../services/check-register.ts';
import { openQueryHarness, type QueryHarness, spaceOf } from '../services/query-harness.ts';
import { structureOf } from '../services/record-client.ts';

const operations = Number(process.env.HISTORY_OPERATIONS ?? 10_000);
const seed = Number(process.env.HISTORY_SEED ?? 1);
const records = 6;
const workers = 24;
const groups = ['a', 'b', 'c'];
/** Of all operations: enough that many reads meet a write, and few enough that many are answered from the cache. */
const writeShare = 0.01;
const cacheBytes = 8 * 1024 ** 2;

/** mulberry32 */
function randomFrom(state: number): () => number {
  let seeded = state;
  return () => {
    seeded = (seeded + 0x6d2b79f5) | 0;
    let value = Math.imul(seeded ^ (seeded >>> 15), 1 | seeded);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Row {
  readonly id: string;
  readonly email: string;
  readonly value: number;
}

/** @returns the histories of the records, and how many reads there were */
async function run(
  harness: QueryHarness,
  count: number,
): Promise<{ histories: readonly RegisterOperation[][]; reads: number }> {
  const space = spaceOf(
    harness,
    'p',
    'registers',
    structureOf('p', 'registers', [
      { name: 'email', type: 'TEXT', unique: true },
      { name: 'group', type: 'TEXT' },
      { name: 'value', type: 'NUMBER' },
    ]),
  );
  const random = randomFrom(seed);
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;
  const histories: RegisterOperation[][] = [];
  const ids: string[] = [];
  let next = 0;
  let reads = 0;
  for (let index = 0; index < records; index++) {
    const value = next++;
    const start = performance.now();
    const { body } = await space.insertOne({ email: `${index}@x`, group: 'a', value });
    ids.push((body as Row).id);
    histories.push([{ kind: 'write', value, start, end: performance.now() }]);
  }
  const write = async (): Promise<void> => {
    const index = Math.floor(random() * records);
    const value = next++;
    const changes = random() < 0.5 ? { value } : { value, group: pick(groups) };
    const start = performance.now();
    const { status, problems } = await space.updateOneById(ids[index] as string, changes);
    if (status !== 200) throw new Error(`update: ${status} ${problems}`);
    (histories[index] as RegisterOperation[]).push({ kind: 'write', value, start, end: performance.now() });
  };
  const read = async (): Promise<void> => {
    const index = Math.floor(random() * records);
    const descending = { sort: { by: 'value', order: 'desc' } };
    const ways = [
      () => space.findOne(`email=${index}%40x`),
      () => space.findOne([['id', ids[index] as string]]),
      () => space.find(`group=${pick(groups)}`),
      () => space.find(`group=${pick(groups)}`, descending),
      () => space.find('', { pagination: { limit: 3, page: 1 } }),
      () => space.find(`group=a&group=b`, { paramRelationship: 'Or' }),
      () => space.search('x', ['email']),
    ];
    const start = performance.now();
    const { status, body, problems } = await pick(ways)();
    const end = performance.now();
    if (status !== 200) throw new Error(`read: ${status} ${problems}`);
    reads++;
    for (const { email, value } of [body].flat() as Row[]) {
      (histories[Number.parseInt(email, 10)] as RegisterOperation[]).push({
        kind: 'read',
        value,
        start,
        end,
      });
    }
  };
  let left = count;
  const work = async (): Promise<void> => {
    while (left-- > 0) await (random() < writeShare ? write() : read());
  };
  await Promise.all(Array.from({ length: workers }, work));
  return { histories, reads };
}

function problemsOf(histories: readonly RegisterOperation[][]): readonly string[] {
  return histories.flatMap((history) => registerProblem(history) ?? []);
}

t.test('the check finds what is wrong', async (t) => {
  const write = (value: number, start: number, end: number): RegisterOperation => ({
    kind: 'write',
    value,
    start,
    end,
  });
  const read = (value: number, start: number, end: number): RegisterOperation => ({
    kind: 'read',
    value,
    start,
    end,
  });
  t.equal(registerProblem([write(1, 0, 1), read(1, 2, 3), write(2, 4, 5), read(2, 6, 7)]), null);
  t.equal(registerProblem([write(1, 0, 1), write(2, 2, 9), read(1, 3, 4), read(2, 5, 6)]), null);
  t.ok(registerProblem([write(1, 0, 1), write(2, 2, 3), read(1, 4, 5)]), 'a stale read');
  t.ok(
    registerProblem([write(1, 0, 1), write(2, 2, 9), read(2, 3, 4), read(1, 5, 6)]),
    'back to an old value',
  );
  t.ok(registerProblem([read(1, 0, 1), write(1, 2, 3)]), 'a value from the future');
});

t.test('histories are linearizable', async (t) => {
  const cache = new ResultCache(cacheBytes);
  const harness = await openQueryHarness({ alone: true, cache: () => cache });
  t.teardown(() => harness.close());
  const { histories, reads } = await run(harness, operations);
  t.strictSame(problemsOf(histories), []);
  t.ok(cache.hits > reads / 20, `reads are answered from the cache: ${cache.hits} of ${reads}`);
});

/** Ways to be wrong, each of which has to be found. */
const breaks: Readonly<Record<string, () => ResultCache>> = {
  'nothing is dropped': () =>
    new (class extends ResultCache {
      override begin(): () => void {
        return () => {};
      }
    })(cacheBytes),
  'results are dropped when the write can be seen already': () =>
    new (class extends ResultCache {
      override begin(spaceId: string, effects: readonly RecordEffect[] | null): () => void {
        return () => super.begin(spaceId, effects)();
      }
    })(cacheBytes),
  'results are dropped after the answer': () =>
    new (class extends ResultCache {
      override begin(spaceId: string, effects: readonly RecordEffect[] | null): () => void {
        return () => void setTimeout(() => super.begin(spaceId, effects)(), 30);
      }
    })(cacheBytes),
  'what is read meanwhile is kept': () =>
    new (class extends ResultCache {
      override begin(spaceId: string, effects: readonly RecordEffect[] | null): () => void {
        super.begin(spaceId, effects)();
        return () => {};
      }
    })(cacheBytes),
};

for (const [name, broken] of Object.entries(breaks)) {
  t.test(`it is found when ${name}`, async (t) => {
    const harness = await openQueryHarness({ alone: true, cache: broken });
    t.teardown(() => harness.close());
    const { histories } = await run(harness, 6000);
    t.ok(problemsOf(histories).length > 0);
  });
}
