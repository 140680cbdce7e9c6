import t from 'tap';
import { type FaultAction, FaultRules } from '../services/s3-stub/fault-rules.ts';
import { seededRandom } from '../services/s3-stub/seeded-random.ts';

const action: FaultAction = { kind: 'hang' };
const part = (partNumber: number, key = 'a') => ({ operation: 'UploadPart' as const, key, partNumber });
const get = { operation: 'GetObject' as const, key: 'a', partNumber: undefined };

t.test('a rule strikes what it names', async (t) => {
  const rules = new FaultRules(() => 0);
  rules.add({ operation: 'UploadPart', partNumber: 2, key: /^a/, action });
  t.equal(rules.take(part(2)).length, 1);
  t.equal(rules.take(part(2, 'ab')).length, 1);
  t.equal(rules.take(part(2, 'b')).length, 0);
  t.equal(rules.take(part(1)).length, 0);
  t.equal(rules.take(get).length, 0);

  const all = new FaultRules(() => 0);
  all.add({ action });
  all.add({ key: 'a', action: { kind: 'delay', ms: 1 } });
  t.strictSame(
    all.take(get).map(({ kind }) => kind),
    ['hang', 'delay'],
    'all that match, in their order',
  );
});

t.test('after and times count matching requests', async (t) => {
  const rules = new FaultRules(() => 0);
  const fault = rules.add({ operation: 'UploadPart', after: 2, times: 3, action });
  const struck = Array.from({ length: 8 }, () => {
    rules.take(get);
    return rules.take(part(1)).length;
  });
  t.strictSame(struck, [0, 0, 1, 1, 1, 0, 0, 0]);
  t.equal(fault.seen, 8);
  t.equal(fault.hits, 3);
  fault.remove();
  rules.take(part(1));
  t.equal(fault.seen, 8);
});

t.test('chance is the same for the same seed', async (t) => {
  const run = (seed: number): number[] => {
    const rules = new FaultRules(seededRandom(seed));
    rules.add({ probability: 0.3, action });
    return Array.from({ length: 2000 }, () => rules.take(get).length);
  };
  const first = run(7);
  t.strictSame(run(7), first);
  t.notSame(run(8), first);
  const hits = first.reduce((sum, hit) => sum + hit, 0);
  t.ok(hits > 500 && hits < 700, `${hits} of 2000 at 0.3`);
});

t.test('clear takes all rules back', async (t) => {
  const rules = new FaultRules(() => 0);
  rules.add({ action });
  rules.add({ action });
  rules.clear();
  t.equal(rules.take(get).length, 0);
});

t.test('random numbers fill the range from 0 up to 1', async (t) => {
  const random = seededRandom(1);
  const numbers = Array.from({ length: 10_000 }, random);
  t.ok(numbers.every((number) => number >= 0 && number < 1));
  const tenths = new Set(numbers.map((number) => Math.floor(number * 10)));
  t.equal(tenths.size, 10);
  t.ok(new Set(numbers).size > 9_990, 'they hardly repeat');
});
