import t from 'tap';
import { ReadWriteLock } from '#kernel/limits/read-write-lock.ts';

/** Work that ends when it is told to. */
function gated(log: string[], name: string) {
  let end: () => void = () => {};
  const gate = new Promise<void>((resolve) => {
    end = resolve;
  });
  const work = async (): Promise<void> => {
    log.push(`${name} begins`);
    await gate;
    log.push(`${name} ends`);
  };
  return { work, end };
}
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

t.test('shared work runs beside other such work, and begins at once', async (t) => {
  const lock = new ReadWriteLock();
  const log: string[] = [];
  const [one, two] = [gated(log, 'one'), gated(log, 'two')];
  const all = [lock.shared(['a', 'b', 'a'], one.work), lock.shared(['b'], two.work)];
  t.strictSame(log, ['one begins', 'two begins']);
  t.notOk(lock.isLocked('a'));
  one.end();
  two.end();
  await Promise.all(all);
});

t.test(
  'work exclusive waits for what is under way on its key, and its key is locked from the beginning',
  async (t) => {
    const lock = new ReadWriteLock();
    const log: string[] = [];
    const [before, beside, elsewhere, exclusive] = ['before', 'beside', 'elsewhere', 'exclusive'].map(
      (name) => gated(log, name),
    ) as [
      ReturnType<typeof gated>,
      ReturnType<typeof gated>,
      ReturnType<typeof gated>,
      ReturnType<typeof gated>,
    ];
    const all = [
      lock.shared(['a', 'b'], before.work),
      lock.shared(['a'], beside.work),
      lock.shared(['b'], elsewhere.work),
      lock.exclusive('a', exclusive.work),
    ];
    t.ok(lock.isLocked('a'));
    t.notOk(lock.isLocked('b'));
    before.end();
    await turn();
    t.notOk(log.includes('exclusive begins'), 'one of two is left');
    beside.end();
    await turn();
    t.ok(log.includes('exclusive begins'), 'work on another key does not matter');
    t.ok(lock.isLocked('a'));
    let changed = false;
    const change = lock.changed().then(() => {
      changed = true;
    });
    await turn();
    t.notOk(changed);
    exclusive.end();
    await change;
    t.notOk(lock.isLocked('a'));
    elsewhere.end();
    await Promise.all(all);
  },
);

t.test('work exclusive goes one by one', async (t) => {
  const lock = new ReadWriteLock();
  const log: string[] = [];
  const works = ['one', 'two', 'three'].map((name) => gated(log, name));
  const all = works.map(({ work }) => lock.exclusive('a', work));
  for (const { end } of works) end();
  await Promise.all(all);
  t.strictSame(
    log,
    ['one', 'two', 'three'].flatMap((name) => [`${name} begins`, `${name} ends`]),
  );
  t.notOk(lock.isLocked('a'));
});

t.test('work that fails lets the others go on', async (t) => {
  const lock = new ReadWriteLock();
  const fail = (): Promise<void> => Promise.reject(new Error('no'));
  await t.rejects(lock.exclusive('a', fail), { message: 'no' });
  await t.rejects(lock.shared(['a'], fail), { message: 'no' });
  t.notOk(lock.isLocked('a'));
  t.equal(await lock.exclusive('a', async () => 1), 1);
});

t.test('what was given up does not begin', async (t) => {
  const lock = new ReadWriteLock();
  const log: string[] = [];
  const work = async (): Promise<void> => void log.push('begun');
  await t.rejects(lock.whenShared('a', AbortSignal.abort(new Error('gone')), work), { message: 'gone' });
  t.strictSame(log, []);
  await lock.exclusive('a', work);
  t.strictSame(log, ['begun'], 'and holds nothing');
});
