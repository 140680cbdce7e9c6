import t from 'tap';
import { parseMix } from '../../load/mix/read-mix.ts';
import type { StoredUpdate } from '../../load/targets/target.ts';
import { isUnclear, isVerified, possibleUpdates, UpdatedRecords } from '../../load/verify/updated-records.ts';

const update = (number: number, began: number, ended: number | null, index = 0): StoredUpdate => ({
  kind: 'update',
  space: 'people',
  ...{ index, number, began, ended },
});
const numbers = (updates: readonly StoredUpdate[]): number[] =>
  possibleUpdates(updates).map((one) => one.number);

t.test(
  'of updates one after the other only the last is possible, in any order of hearing of them',
  async (t) => {
    t.strictSame(numbers([update(1, 0, 5), update(2, 6, 9), update(3, 10, 12)]), [3]);
    t.strictSame(numbers([update(3, 10, 12), update(1, 0, 5), update(2, 6, 9)]), [3]);
  },
);

t.test('of updates that overlap each is possible', async (t) => {
  t.strictSame(numbers([update(1, 0, 5), update(2, 4, 9)]), [1, 2]);
  t.strictSame(numbers([update(1, 0, 5), update(2, 4, 9), update(3, 6, 7)]), [2, 3]);
});

t.test('one without an answer stays possible, and replaces none', async (t) => {
  t.strictSame(numbers([update(1, 0, 5), update(2, 6, null), update(3, 20, 21)]), [2, 3]);
  t.strictSame(numbers([update(1, 0, 5), update(2, 6, null)]), [1, 2]);
});

t.test('of too many nothing is said', async (t) => {
  const many = Array.from({ length: 20 }, (_, number) => update(number, number, null));
  t.equal(isUnclear(possibleUpdates(many)), true);
  t.equal(isUnclear(possibleUpdates(many.slice(0, 8))), false);
});

t.test('threads choose the same records', async (t) => {
  const text = `{"spaces": [{"name": "people", "records": 1000, "fields": [{"name": "city"}]}],
    "requests": [{"kind": "update", "space": "people"}]}`;
  const mix = parseMix('a.json', text);
  const [first, second] = [new UpdatedRecords(mix, 0.3), new UpdatedRecords(mix, 0.3)];
  for (let index = 0; index < 1000; index++) {
    first.note(update(index, 0, 1, index));
    second.note(update(index + 1000, 2, 3, index));
  }
  const ofFirst = first.all.map(({ index }) => index);
  const ofSecond = second.all.map(({ index }) => index);
  t.strictSame(ofFirst, ofSecond);
  t.ok(ofFirst.length > 200 && ofFirst.length < 400, `${ofFirst.length}`);
  const [space] = mix.spaces;
  t.ok(space && ofFirst.every((index) => isVerified(mix.seed, space, index, 0.3)));
});
