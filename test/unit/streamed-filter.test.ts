import t from 'tap';
import { StreamedFilter } from '#engine/streamed-filter.ts';

/** xorshift: the same keys in each run. */
function keyMaker(seed: number): () => [low: number, high: number] {
  let state = seed;
  const word = (): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state | 0;
  };
  return () => [word(), word()];
}

const keys = (seed: number, count: number) => Array.from({ length: count }, keyMaker(seed));

/** Rows in chunks that end in the middle of one. */
async function* rowsOf(stored: readonly [number, number][], size = 1001): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(Int32Array.from(stored.flat()).buffer);
  for (let at = 0; at < bytes.byteLength; at += size) yield bytes.subarray(at, at + size);
}

const source = (stored: readonly [number, number][], rows = () => rowsOf(stored)) => ({
  count: async () => stored.length,
  rows: async () => rows(),
});

const share = (filter: StreamedFilter, asked: readonly [number, number][]): number =>
  asked.filter(([low, high]) => filter.mayHave(low, high)).length / asked.length;

t.test('it has what was streamed and what was added, also when it grew', async (t) => {
  const filter = new StreamedFilter({ smallest: 1000, largest: 100_000 });
  const [stored, added, others] = [keys(1, 2000), keys(2, 20_000), keys(3, 20_000)];
  await filter.fill(source(stored));
  t.equal(share(filter, stored), 1);
  t.ok(share(filter, others) < 0.02);
  for (const [low, high] of added) filter.add(low, high);
  t.equal(share(filter, [...stored, ...added]), 1);
  t.ok(share(filter, others) < 0.06, 'layers are full at one in a hundred each');
  await filter.addAll(rowsOf(others));
  t.equal(share(filter, others), 1);
});

t.test('every key may be there until it is filled, and what comes meanwhile is in it', async (t) => {
  const filter = new StreamedFilter({ smallest: 1000, largest: 100_000 });
  const [stored, meanwhile, others] = [keys(1, 500), keys(2, 500), keys(3, 1000)];
  t.equal(share(filter, others), 1);
  async function* slowly(): AsyncGenerator<Uint8Array> {
    for (const [low, high] of meanwhile) filter.add(low, high);
    t.equal(share(filter, others), 1);
    yield* rowsOf(stored);
  }
  await filter.fill(source(stored, slowly));
  t.equal(share(filter, [...stored, ...meanwhile]), 1);
  t.ok(share(filter, others) < 0.02);
});

t.test('with more keys than it may hold, and without its table, every key may be there', async (t) => {
  const others = keys(3, 100);
  const large = new StreamedFilter({ smallest: 100, largest: 1000 });
  await large.fill(source(keys(1, 501)));
  t.equal(share(large, others), 1);
  const growing = new StreamedFilter({ smallest: 100, largest: 1000 });
  await growing.fill(source([]));
  for (const [low, high] of keys(2, 1000)) growing.add(low, high);
  t.equal(share(growing, others), 1);
  const flooded = new StreamedFilter({ smallest: 100, largest: 1000 });
  for (const [low, high] of keys(2, 101)) flooded.add(low, high);
  await flooded.fill(source([]));
  t.equal(share(flooded, others), 1);
  const broken = new StreamedFilter({ smallest: 100, largest: 1000 });
  await t.rejects(
    broken.fill({ count: async () => 0, rows: () => Promise.reject(new Error('no table')) }),
    /no table/,
  );
  for (const [low, high] of keys(2, 10)) broken.add(low, high);
  t.equal(share(broken, others), 1);
});
