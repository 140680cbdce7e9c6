import t from 'tap';
import { forEachAtOnce } from '#kernel/limits/for-each-at-once.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

t.test('so many go at once, in order, and the next one begins when one is done', async (t) => {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const all = forEachAtOnce(['a', 'b', 'c'], 2, (item, index) => {
    begun.push(`${index} ${item}`);
    return new Promise<void>((resolve) => ends.push(resolve));
  });
  t.strictSame(begun, ['0 a', '1 b']);
  ends[1]?.();
  await turn();
  t.strictSame(begun, ['0 a', '1 b', '2 c']);
  ends[0]?.();
  ends[2]?.();
  await all;
  await forEachAtOnce([], 2, async () => {
    t.fail('there is nothing to do');
  });
});

t.test('nothing more begins after a failure', async (t) => {
  const begun: number[] = [];
  const work = async (item: number): Promise<void> => {
    begun.push(item);
    await turn();
    if (item === 1) throw new Error('no');
  };
  await t.rejects(forEachAtOnce([1, 2, 3, 4], 2, work), { message: 'no' });
  await turn();
  t.strictSame(begun, [1, 2]);
});
