import t from 'tap';
import { forEachYielding } from '#kernel/limits/yielding-loop.ts';

const items = Array.from({ length: 1000 }, (_, i) => i);
/** Keeps the event loop for a moment: longer than a turn takes with as many items as come between two looks. */
function busy(): void {
  const end = performance.now() + 1;
  while (performance.now() < end);
}

t.test('every item has its turn, in order', async (t) => {
  const seen: number[] = [];
  await forEachYielding(
    items,
    (item, index) => seen.push(index === item ? item : -1),
    new AbortController().signal,
  );
  t.strictSame(seen, items);
  await forEachYielding([], () => t.fail('there is none'), new AbortController().signal);
});

/** How often others have their turn, until its end. */
function countOthers() {
  let others = 0;
  let next: NodeJS.Immediate;
  const run = (): void => {
    next = setImmediate(() => {
      others++;
      run();
    });
  };
  run();
  return {
    end(): number {
      clearImmediate(next);
      return others;
    },
  };
}

t.test('others run in between', async (t) => {
  const others = countOthers();
  await forEachYielding(items, busy, new AbortController().signal);
  t.ok(others.end() > 10);
});

t.test('others run between few items that take long each', async (t) => {
  const others = countOthers();
  const slow = (): void => {
    for (let i = 0; i < 15; i++) busy();
  };
  await forEachYielding(items.slice(0, 24), slow, new AbortController().signal);
  t.ok(others.end() >= 20);
});

t.test('it ends with the signal, and with what the work throws', async (t) => {
  const gone = new AbortController();
  let done = 0;
  const work = (): void => {
    busy();
    if (++done === 10) gone.abort(new Error('client gone'));
  };
  await t.rejects(forEachYielding(items, work, gone.signal), { message: 'client gone' });
  t.ok(done < 100, `${done}`);
  const wrong = (item: number): void => {
    if (item === 3) throw new Error('wrong');
  };
  await t.rejects(forEachYielding(items, wrong, new AbortController().signal), { message: 'wrong' });
});
