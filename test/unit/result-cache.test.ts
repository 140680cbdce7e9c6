import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import type { Conditions } from '#records/input/parse-conditions.ts';
import { ResultCache } from '#records/store-embedded/result-cache.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { loadResult } from '../services/load-result.ts';
import { sized } from '../services/test-size.ts';

const mebibyte = 1024 ** 2;
const limit = 8 * mebibyte;
const time = '2026-01-01T00:00:00.000Z';
/** The cache looks at no more of a space than its id. */
const viewOf = (id: string): RecordSpace => ({ id }) as RecordSpace;
const byId = (id: string): Conditions => ({
  relationship: 'And',
  plain: [{ target: 'id', value: id }],
  others: [],
  hashed: [],
});
setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as () => void;
/** Twice: memory of buffers is given back behind the first. */
async function collect(): Promise<void> {
  gc();
  await new Promise((resolve) => setImmediate(resolve));
  gc();
}

/** What a request of this number asks, and what it is answered. */
interface Shape {
  readonly name: string;
  /** Distinct requests: `npm run bench -- query --only MEMORY` sends a million to a process. */
  readonly amount: number;
  readonly request: (number: number) => string;
  /** Absent: none are known. */
  readonly conditions?: (number: number) => Conditions;
  readonly result: (number: number) => Buffer;
  /** Absent: of one space. */
  readonly view?: (number: number) => RecordSpace;
}

const one = viewOf('one');
const many = Array.from({ length: 5000 }, (_, index) => viewOf(`space-${index}`));
const shapes: readonly Shape[] = [
  {
    name: 'small results with conditions',
    amount: sized(60_000, 30_000),
    request: (number) => `findOne email=person-${number}@example.com`,
    conditions: (number) => byId(`person-${number}@example.com`),
    result: () => Buffer.from('null'),
  },
  {
    name: 'long requests and small results',
    amount: sized(60_000, 30_000),
    request: (number) => `find ${'x'.repeat(2000)}${number}`,
    result: () => Buffer.from('[]'),
  },
  {
    name: 'large results',
    amount: sized(60_000, 1000),
    request: (number) => `find ${number}`,
    // not of the pool that small buffers share
    result: () => Buffer.alloc(100_000, 'x'),
  },
  {
    name: 'many spaces',
    amount: sized(60_000, 30_000),
    request: (number) => `find ${number}`,
    conditions: (number) => byId(`${number}`),
    result: () => Buffer.from('[{"a":1}]'),
    view: (number) => many[number % many.length] as RecordSpace,
  },
];

for (const { name, amount, request, conditions = () => null, result, view = () => one } of shapes) {
  t.test(`many times what RECORD_CACHE_BYTES holds: ${name}`, async (t) => {
    const cache = new ResultCache(limit);
    await collect();
    const before = process.memoryUsage();
    for (let number = 0; number < amount; number++) {
      await loadResult(cache, view(number), request(number), conditions(number), async () => result(number));
    }
    await collect();
    const after = process.memoryUsage();
    let kept = 0;
    let bytes = 0;
    for (let number = 0; number < amount; number++) {
      const found = cache.get(view(number), request(number));
      if (found === undefined) continue;
      kept++;
      bytes += found.byteLength + request(number).length;
    }
    t.ok(kept > 0, 'something is kept');
    t.ok(bytes <= limit, `${kept} results with ${bytes} bytes are kept, of ${limit}`);
    const growth = after.heapUsed + after.external - before.heapUsed - before.external;
    t.ok(growth < 2 * limit, `the process grew by ${growth} bytes`);
    t.comment(`${name}: ${kept} of ${amount} are kept, ${bytes} bytes of ${limit}; +${growth}`);
  });
}

t.test('a result that is dropped takes nothing any more', async (t) => {
  const cache = new ResultCache(64 * mebibyte);
  await collect();
  const before = process.memoryUsage().heapUsed;
  for (let number = 0; number < 20_000; number++) {
    await loadResult(cache, one, `find ${number}`, byId(`${number}`), async () => Buffer.from('[]'));
  }
  cache.begin(one.id, null)();
  await collect();
  const growth = process.memoryUsage().heapUsed - before;
  t.equal(cache.get(one, 'find 19999'), undefined);
  t.ok(growth < 4 * mebibyte, `${growth} bytes are left of 20,000 results`);
});

t.test('0 keeps nothing', async (t) => {
  const cache = new ResultCache(0);
  await loadResult(cache, one, 'find', null, async () => Buffer.from('[]'));
  t.equal(cache.get(one, 'find'), undefined);
});

t.test('a result that was read while a write that it may show was under way is not kept', async (t) => {
  for (const effects of [[{ _id: '1', _doc: {} }], null]) {
    const cache = new ResultCache(limit);
    const load = (request: string, conditions: Conditions | null) =>
      loadResult(cache, one, request, conditions, async () => Buffer.from('[]'));
    const isKept = (request: string) => cache.get(one, request) !== undefined;
    const end = cache.begin(one.id, effects);
    await load('that', byId('1'));
    await load('all', null);
    await load('other', byId('2'));
    t.strictSame(['that', 'all', 'other'].map(isKept), [false, false, effects !== null]);
    end();
    t.strictSame(['that', 'all'].map(isKept), [false, false]);
    await load('that', byId('1'));
    t.ok(isKept('that'), 'what is read afterwards is');
  }
});

t.test(
  'a find by a time of the service is dropped with each write: new records may have that time',
  async (t) => {
    for (const target of ['createdAt', 'updatedAt'] as const) {
      const cache = new ResultCache(limit);
      const at = { relationship: 'And', plain: [{ target, value: time }], others: [], hashed: [] } as const;
      await loadResult(cache, one, 'find', at, async () => Buffer.from('[]'));
      t.ok(cache.get(one, 'find'));
      cache.begin(one.id, [{ _id: '1', _doc: {} }])();
      t.equal(cache.get(one, 'find'), undefined, target);
    }
  },
);

t.test('a result from memory is kept until a write that it may show begins', (t) => {
  const cache = new ResultCache(limit);
  const keep = (): boolean => {
    cache.keep(one, 'find', byId('1'), Buffer.from('[]'));
    return cache.get(one, 'find') !== undefined;
  };
  t.ok(keep());
  const end = cache.begin(one.id, [{ _id: '1', _doc: {} }]);
  t.equal(cache.get(one, 'find'), undefined);
  t.notOk(keep(), 'nor one that is made meanwhile');
  end();
  t.ok(keep());
  cache.keep(one, 'large', null, Buffer.alloc(cache.largest + 1));
  t.equal(cache.get(one, 'large'), undefined);
  t.end();
});

t.test('a small result does not keep the larger buffer in memory that it is a piece of', async (t) => {
  const cache = new ResultCache(mebibyte);
  const piece = (text: string) => Buffer.from(`before ${text}`).subarray(7);
  cache.keep(one, 'kept', byId('a'), piece('kept'));
  await loadResult(cache, one, 'read', byId('a'), async () => piece('read'));
  for (const asked of ['kept', 'read']) {
    const result = cache.get(one, asked) as Uint8Array;
    t.equal(Buffer.from(result).toString(), asked);
    t.equal(result.buffer.byteLength, 4);
  }
});

t.test('a result that is still read when a write begins is neither kept nor shared', async (t) => {
  const cache = new ResultCache(limit);
  let answer = (_: Buffer): void => {};
  const early = loadResult(cache, one, 'find', byId('1'), () => new Promise((resolve) => (answer = resolve)));
  cache.begin(one.id, [{ _id: '1', _doc: {} }])();
  const late = await loadResult(cache, one, 'find', byId('1'), async () => Buffer.from('new'));
  answer(Buffer.from('old'));
  t.equal(`${await early}`, 'old', 'it was asked before');
  t.equal(`${late}`, 'new');
  t.equal(`${cache.get(one, 'find')}`, 'new');
});
