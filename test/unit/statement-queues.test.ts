/** What goes into which statement, and in whose turn: common/engine/statement-queues.ts. */
import { mock } from 'node:test';
import fc from 'fast-check';
import t from 'tap';
import { type QueuedItem, type StatementItem, StatementQueues } from '#engine/statement-queues.ts';
import { ReadWriteLock } from '#kernel/limits/read-write-lock.ts';
import { sized } from '../services/test-size.ts';

interface Item extends StatementItem {
  readonly name: string;
}

const idle = new AbortController().signal;
const item = (name: string, more: Partial<Item> = {}): Item => ({
  queue: 'q',
  shape: 's',
  size: 1,
  account: 'a',
  signal: idle,
  name,
  ...more,
});
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Queues whose statements wait until they are let go. */
function openQueues(options: Partial<ConstructorParameters<typeof StatementQueues<Item, string>>[0]> = {}) {
  const statements: string[][] = [];
  const waiting: (() => void)[] = [];
  let open = false;
  const queues = new StatementQueues<Item, string>({
    pendingLimit: 1e9,
    full: 'too much waits',
    sizeLimit: 1e9,
    async run(items: readonly QueuedItem<Item, string>[]) {
      statements.push(items.map(({ item }) => item.name));
      if (!open) await new Promise<void>((resolve) => waiting.push(resolve));
      for (const { item, resolve } of items) resolve(item.name);
    },
    ...options,
  });
  return {
    statements,
    add: (name: string, more: Partial<Item> = {}) => queues.add(item(name, more)),
    /** Lets all go on, from now on at once. */
    release() {
      open = true;
      for (const resolve of waiting.splice(0)) resolve();
    },
    /** Lets the oldest statement end. */
    async step() {
      waiting.shift()?.();
      await turn();
    },
  };
}

t.test(
  'what comes while a statement is under way is the next one, and queues do not wait for each other',
  async (t) => {
    const { add, statements, release } = openQueues();
    const all = [add('1'), add('2'), add('3'), add('x', { queue: 'other' })];
    await turn();
    t.strictSame(statements, [['1'], ['x']]);
    release();
    t.strictSame(await Promise.all(all), ['1', '2', '3', 'x']);
    t.strictSame(statements, [['1'], ['x'], ['2', '3']]);
  },
);

t.test('one account that has 1,000 waiting does not push back the single one of another', async (t) => {
  for (const shape of ['s', 'other']) {
    const { add, statements, release, step } = openQueues({ countLimit: 10 });
    const flood = Array.from({ length: 1001 }, (_, i) => add(`f${i}`));
    const one = add('one', { account: 'b', shape });
    // what is under way, and one more at most
    await step();
    if (shape !== 's') await step();
    t.ok(statements.at(-1)?.includes('one'), `its shape is ${shape}`);
    release();
    await Promise.all([...flood, one]);
    t.strictSame(
      statements.flat().filter((name) => name !== 'one'),
      Array.from({ length: 1001 }, (_, i) => `f${i}`),
      'in their order',
    );
  }
});

t.test('accounts share a statement item by item, and who was not served comes first', async (t) => {
  const { add, statements, release } = openQueues({ countLimit: 4 });
  const all = [add('first')];
  for (const account of ['a', 'b', 'c']) {
    for (let i = 0; i < 4; i++) all.push(add(`${account}${i}`, { account }));
  }
  all.push(add('d0', { account: 'd', shape: 'rare' }));
  release();
  await Promise.all(all);
  t.strictSame(statements.slice(0, 2), [['first'], ['a0', 'b0', 'c0', 'a1']]);
  t.strictSame(statements[2], ['d0'], 'all others were served since it came');
});

t.test('an account has half the pending limit, and gets it back', async (t) => {
  const { add, release } = openQueues({ pendingLimit: 100 });
  const all = [add('1', { size: 30 }), add('2', { size: 20 })];
  await t.rejects(add('3'), { status: 503, code: 'overloaded', message: /too much waits/ });
  await t.rejects(add('3', { queue: 'other' }), { code: 'overloaded' }, 'of all queues');
  all.push(add('4', { account: 'b', size: 40 }));
  await t.rejects(add('5', { account: 'c', size: 11 }), { code: 'overloaded' });
  all.push(add('6', { account: 'c', size: 10 }));
  release();
  await Promise.all(all);
  await Promise.all([add('7', { size: 50 }), add('8', { account: 'b', size: 50 })]);
  t.equal(await add('9', { size: 1000 }), '9', 'one that is larger is let in alone');
});

t.test('a statement holds what its limits let in, and an item that is larger goes alone', async (t) => {
  const { add, statements, release } = openQueues({ sizeLimit: 10, countLimit: 3 });
  const sizes = [1, 4, 6, 1, 1, 1, 1, 50, 1];
  const all = sizes.map((size, i) => add(String(i), { size }));
  release();
  await Promise.all(all);
  t.strictSame(statements, [['0'], ['1', '2'], ['3', '4', '5'], ['6'], ['7'], ['8']]);
});

t.test('what is locked is left for later, and what others have goes on', async (t) => {
  const lock = new ReadWriteLock();
  const { add, statements, release } = openQueues({ lock });
  release();
  let unlock: () => void = () => {};
  const exclusive = lock.exclusive('space', () => new Promise<void>((resolve) => (unlock = resolve)));
  const held = add('held', { lockKey: 'space', key: 'r' });
  const other = add('other', { lockKey: 'elsewhere' });
  t.equal(await other, 'other', 'it was there when the queue began to wait');
  t.equal(await add('later', { lockKey: 'elsewhere' }), 'later', 'it came while the queue waited');
  t.equal(await add('free', { account: 'b' }), 'free');
  t.notOk(statements.flat().includes('held'));
  unlock();
  t.equal(await held, 'held');
  await exclusive;
});

t.test('a statement that has a key alone waits for the one in progress, and for no other', async (t) => {
  const lock = new ReadWriteLock();
  const { add, release, statements } = openQueues({ lock });
  const first = add('1', { lockKey: 'space' });
  const second = add('2', { lockKey: 'space' });
  const order: string[] = [];
  const exclusive = lock.exclusive('space', async () => {
    order.push(...statements.flat(), 'alone');
  });
  await turn();
  t.strictSame(order, []);
  release();
  await Promise.all([first, exclusive, second]);
  t.strictSame(order, ['1', 'alone']);
});

t.test('a later change of a record never overtakes an earlier one', async (t) => {
  const { add, statements, release } = openQueues({ sizeLimit: 10 });
  const all = [
    add('0'),
    add('a1', { key: 'r', shape: 'x' }),
    add('b1', { shape: 'y' }),
    add('a2', { key: 'r', shape: 'y' }),
    add('a3', { key: 'r', shape: 'x' }),
    add('large', { key: 'l', size: 10, shape: 'x' }),
    add('small', { key: 'l', shape: 'x' }),
  ];
  release();
  await Promise.all(all);
  const at = (name: string): number => statements.findIndex((names) => names.includes(name));
  t.ok(at('a1') < at('a2') && at('a2') < at('a3'), JSON.stringify(statements));
  t.ok(at('large') < at('small'), JSON.stringify(statements));
});

t.test('whatever comes: each is in one statement, with its like, and a record keeps its order', async () => {
  const arbitrary = fc.record({
    account: fc.constantFrom('a', 'b', 'c'),
    shape: fc.constantFrom('x', 'y'),
    key: fc.option(fc.constantFrom('r1', 'r2', 'r3')),
    size: fc.integer({ min: 1, max: 12 }),
    gone: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(arbitrary, { maxLength: 40 }), async (all) => {
      const { add, statements, release } = openQueues({ sizeLimit: 10, countLimit: 5 });
      const first = add('first');
      const gone = AbortSignal.abort(new Error('gone'));
      const items = all.map(({ gone: isGone, key, account, ...rest }, i) =>
        // the changes of one record are of one account: its space's
        item(String(i), {
          ...rest,
          account: key ?? account,
          ...(key ? { key } : {}),
          signal: isGone ? gone : idle,
        }),
      );
      const outcomes = Promise.allSettled(items.map((each) => add(each.name, each)));
      release();
      await first;
      for (const [i, outcome] of (await outcomes).entries()) {
        const expected = items[i]?.signal.aborted ? 'rejected' : 'fulfilled';
        if (outcome.status !== expected) return false;
      }
      const names = statements.flat().slice(1);
      const kept = items.filter(({ signal }) => !signal.aborted);
      const made = statements.slice(1).map((names) => names.map((name) => items[Number(name)] as Item));
      return (
        names.length === kept.length &&
        new Set(names).size === kept.length &&
        made.every(
          (ofOne) =>
            ofOne.length <= 5 &&
            new Set(ofOne.map(({ shape }) => shape)).size === 1 &&
            (ofOne.length === 1 || ofOne.reduce((sum, { size }) => sum + size, 0) <= 10) &&
            new Set(ofOne.flatMap(({ key }) => key ?? [])).size === ofOne.filter(({ key }) => key).length,
        ) &&
        ['r1', 'r2', 'r3'].every((key) => {
          const order = made.flat().filter((each) => each.key === key);
          return order.every((each, i) => i === 0 || Number(order[i - 1]?.name) < Number(each.name));
        })
      );
    }),
    { numRuns: sized(200) },
  );
});

t.test('a flood that is longer than a list of arguments may be is no more than a flood', async (t) => {
  const { add, statements, release } = openQueues({ countLimit: 5000 });
  const flood = Array.from({ length: 140_000 }, (_, i) => add(String(i)));
  const other = add('other', { account: 'b', shape: 'x' });
  release();
  await Promise.all([...flood, other]);
  t.strictSame(statements[2], ['other']);
  t.equal(statements.length, 30);
});

t.test(
  'after a statement of several the next one waits for as many, and after one of one for none',
  async (t) => {
    // time stands still
    mock.timers.enable({ apis: ['setTimeout'] });
    t.teardown(() => mock.timers.reset());
    const { add, statements, release, step } = openQueues({ linger: { part: 1e9, most: 1e9 } });
    const done = [add('1'), add('2'), add('3')];
    await step();
    t.strictSame(statements, [['1'], ['2', '3']]);
    done.push(add('4'));
    await step();
    done.push(add('5'));
    await turn();
    t.equal(statements.length, 2, 'two were answered, and one waited');
    done.push(add('6'));
    await turn();
    t.strictSame(statements.slice(2), [['4', '5', '6']]);
    await step();
    release();
    done.push(add('7'), add('8'), add('9'));
    t.strictSame(await Promise.all(done), ['1', '2', '3', '4', '5', '6', '7', '8', '9']);
  },
);
