import t from 'tap';
import type { Database, ReadStatement } from '#engine/database.ts';
import { GroupCommit, type RowBatch } from '#engine/group-commit.ts';
import { overloaded } from '#kernel/errors/catalogue.ts';
import { UnknownOutcome } from '#kernel/errors/unknown-outcome.ts';

interface Insert {
  readonly table: string;
  readonly columns: readonly string[];
  readonly text: string;
  readonly signal: AbortSignal | undefined;
  succeed(): void;
  fail(error: Error): void;
}

type Options = Partial<ConstructorParameters<typeof GroupCommit>[0]>;

/** Over a database that notes INSERTs, and keeps them until they are told how they end. */
function open(options: Options = {}, stored: (id: string) => boolean = () => false) {
  const inserts: Insert[] = [];
  const lookups: string[] = [];
  let onInsert: (insert: Insert) => void = () => {};
  const db = {
    insert: ({ table, columns = [], lines, signal }) =>
      new Promise<void>((resolve, reject) => {
        const insert = {
          table,
          columns,
          text: Buffer.from(lines).toString(),
          signal,
          succeed: () => resolve(),
          fail: reject,
        };
        inserts.push(insert);
        onInsert(insert);
      }),
    rows: async <Row>({ sql }: ReadStatement): Promise<Row[]> => {
      const id = /_id = '(.*)'/.exec(sql)?.[1] as string;
      lookups.push(id);
      return stored(id) ? [{ 1: 1 } as Row] : [];
    },
  } as Partial<Database> as Database;
  return {
    group: new GroupCommit({ db, pendingLimit: 1000, insertLimit: 100, ...options }),
    db,
    inserts,
    lookups,
    texts: () => inserts.map(({ text }) => text),
    /** From now on every INSERT ends at once. */
    answer(decide: (insert: Insert) => Error | null) {
      onInsert = (insert) => {
        const error = decide(insert);
        if (error === null) insert.succeed();
        else insert.fail(error);
      };
    },
  };
}

const idle = new AbortController().signal;
const row = (id: string, more: Partial<Omit<RowBatch, 'lines'>> & { lines?: string } = {}): RowBatch => ({
  home: 'h',
  account: 'owner',
  ...more,
  table: more.table ?? 't',
  columns: more.columns ?? ['a'],
  lines: Buffer.from(more.lines ?? `${id}\n`),
  proof: `_id = '${id}'`,
  signal: more.signal ?? idle,
});
async function turn(times = 1): Promise<void> {
  for (let i = 0; i < times; i++) await new Promise((resolve) => setImmediate(resolve));
}
/** What became of each promise so far. */
function outcomes(promises: readonly Promise<unknown>[]): string[] {
  const states: string[] = promises.map(() => 'waiting');
  promises.forEach((promise, i) => {
    promise.then(
      () => (states[i] = 'stored'),
      (error: Error) => (states[i] = error.message),
    );
  });
  return states;
}

t.test('while one INSERT is under way the next ones gather, in their order', async (t) => {
  const { group, inserts, texts } = open();
  const states = outcomes(['1', '2', '3', '4'].map((id) => group.write(row(id))));
  await turn();
  t.strictSame(texts(), ['1\n']);
  t.equal(inserts[0]?.signal, undefined, 'an INSERT for many is not stopped by one');
  inserts[0]?.succeed();
  await turn();
  t.strictSame(states, ['stored', 'waiting', 'waiting', 'waiting']);
  t.strictSame(texts(), ['1\n', '2\n3\n4\n']);
  inserts[1]?.succeed();
  await turn();
  t.strictSame(states, ['stored', 'stored', 'stored', 'stored']);
  const again = group.write(row('5'));
  await turn();
  inserts[2]?.succeed();
  await again;
});

t.test('an INSERT waits for the writes that are expected, and for no others', async (t) => {
  let expected = 3;
  // the time alone would not let it go within this test
  const { group, inserts, texts } = open({ gather: { expected: () => expected, wait: 2 ** 30 } });
  const states = outcomes(['1', '2'].map((id) => group.write(row(id))));
  await turn();
  t.equal(inserts.length, 0);
  const third = group.write(row('3'));
  await turn();
  t.strictSame(texts(), ['1\n2\n3\n']);
  inserts[0]?.succeed();
  await third;
  t.strictSame(states, ['stored', 'stored']);
  expected = 1;
  const alone = group.write(row('4'));
  await turn();
  t.equal(inserts[1]?.text, '4\n', 'nobody else is on the way');
  inserts[1]?.succeed();
  await alone;
});

t.test('an expected write that does not come is waited for a while only', async (t) => {
  const { group, answer, texts } = open({ gather: { expected: () => 5, wait: 1 } });
  answer(() => null);
  await Promise.all([group.write(row('1')), group.write(row('2'))]);
  t.strictSame(texts(), ['1\n2\n']);
});

t.test('homes do not wait for each other, and tables and column lists do not mix', async (t) => {
  const { group, inserts, texts } = open();
  const all = [
    group.write(row('1')),
    group.write(row('2', { columns: ['a', 'b'] })),
    group.write(row('3')),
    group.write(row('4', { columns: ['a', 'b'] })),
    group.write(row('5', { table: 'u' })),
    group.write(row('6', { home: 'other' })),
  ];
  await turn();
  t.strictSame(texts(), ['1\n', '6\n']);
  for (let i = 0; i < inserts.length; i++) {
    inserts[i]?.succeed();
    await turn();
  }
  await Promise.all(all);
  t.strictSame(
    inserts.map(({ table, columns, text }) => [table, columns.join(), text]),
    [
      ['t', 'a', '1\n'],
      ['t', 'a', '6\n'],
      ['t', 'a,b', '2\n4\n'],
      ['t', 'a', '3\n'],
      ['u', 'a', '5\n'],
    ],
  );
});

t.test('an INSERT gathers up to its limit, and the rows of a request stay together', async (t) => {
  const { group, inserts } = open({ insertLimit: 10 });
  const all = ['1234567', '2345678', '3', '4'.repeat(50), '5', '6'].map((id) => group.write(row(id)));
  for (let i = 0; i < 4; i++) {
    await turn();
    inserts[i]?.succeed();
  }
  await Promise.all(all);
  t.strictSame(
    inserts.map(({ text }) => text.split('\n').slice(0, -1)),
    [['1234567'], ['2345678', '3'], ['4'.repeat(50)], ['5', '6']],
  );
});

t.test('one bad request fails alone, and the others are stored once', async (t) => {
  const { group, inserts, answer } = open();
  const ids = Array.from({ length: 20 }, (_, i) => `r${i}`);
  const bad = new Error('bad row');
  const kept: string[] = [];
  const states = outcomes(ids.map((id) => group.write(row(id))));
  await turn();
  answer(({ text }) => {
    if (text.includes('r13\n')) return bad;
    kept.push(...text.split('\n').slice(0, -1));
    return null;
  });
  inserts[0]?.succeed();
  await turn(50);
  t.strictSame(
    states,
    ids.map((id) => (id === 'r13' ? 'bad row' : 'stored')),
  );
  t.strictSame(
    kept,
    ids.filter((id) => id !== 'r13' && id !== 'r0'),
  );
  t.ok(inserts.length < 15, 'found in few steps');
});

t.test('rows that a failed INSERT left are not written again', async (t) => {
  const { group, inserts, lookups, answer } = open({}, (id) => id === 'b');
  const states = outcomes(['a', 'b', 'c'].map((id) => group.write(row(id))));
  await turn();
  answer(() => new Error('connection reset'));
  inserts[0]?.succeed();
  await turn(20);
  t.strictSame(states, ['stored', 'stored', 'stored']);
  t.equal(inserts.length, 2);
  t.strictSame(lookups, ['b']);
});

t.test('when even the look fails, the first error is what everybody hears', async (t) => {
  const { group, inserts, answer } = open({}, () => {
    throw new Error('gone too');
  });
  const states = outcomes(['a', 'b'].map((id) => group.write(row(id))));
  await turn();
  answer(() => new Error('connection reset'));
  inserts[0]?.fail(new Error('connection reset'));
  await turn(20);
  t.strictSame(states, ['connection reset', 'connection reset']);
  t.equal(inserts.length, 2);
});

t.test('a refusal by the database is not tried again', async (t) => {
  const { group, inserts, lookups, answer } = open();
  const states = outcomes(['a', 'b', 'c'].map((id) => group.write(row(id))));
  await turn();
  answer(() => overloaded('no room'));
  inserts[0]?.succeed();
  await turn(20);
  t.match(states, ['stored', /no room/, /no room/]);
  t.equal(inserts.length, 2);
  t.strictSame(lookups, []);
});

t.test('what waits is bounded, and room comes back', async (t) => {
  const { group, inserts, answer } = open({ pendingLimit: 10 });
  const first = group.write(row('1234'));
  await t.rejects(group.write(row('x')), { code: 'overloaded' }, 'half of it for one account');
  const second = group.write(row('1234', { account: 'other' }));
  await t.rejects(group.write(row('x', { account: 'third' })), { code: 'overloaded', status: 503 });
  await t.rejects(group.write(row('x', { account: 'third', home: 'other' })), { code: 'overloaded' });
  await turn();
  answer(() => null);
  inserts[0]?.succeed();
  await Promise.all([first, second]);
  await group.write(row('x'));
  await group.write(row('alone', { lines: 'y'.repeat(500) }));
  t.equal(inserts.length, 4);
});

t.test(
  'a request that went away before its INSERT began is left out; one that began is seen through',
  async (t) => {
    const { group, inserts, answer, texts } = open();
    const gone = new AbortController();
    const states = outcomes([
      group.write(row('1', { signal: gone.signal })),
      group.write(row('2', { signal: gone.signal })),
      group.write(row('3')),
    ]);
    await turn();
    gone.abort(new Error('client gone'));
    await turn();
    t.strictSame(states, ['waiting', 'waiting', 'waiting']);
    answer(() => null);
    inserts[0]?.succeed();
    await turn(5);
    t.strictSame(states, ['stored', 'client gone', 'stored']);
    t.strictSame(texts(), ['1\n', '3\n']);
    await group.write(row('4'));
  },
);

t.test('all that waited went away', async (t) => {
  const { group, inserts, answer, texts } = open();
  const gone = new AbortController();
  const states = outcomes([group.write(row('1')), group.write(row('2', { signal: gone.signal }))]);
  await turn();
  gone.abort(new Error('client gone'));
  answer(() => null);
  inserts[0]?.succeed();
  await turn();
  t.strictSame(states, ['stored', 'client gone']);
  await group.write(row('3'));
  t.strictSame(texts(), ['1\n', '3\n']);
});

t.test('rows of an INSERT whose outcome is unknown are not inserted a second time', async (t) => {
  const { group, inserts, lookups, answer } = open();
  const first = group.write(row('a'));
  const others = ['b', 'c'].map((id) => group.write(row(id)));
  answer(() => new UnknownOutcome(new Error('the connection broke')));
  inserts[0]?.succeed();
  await first;
  for (const outcome of others) await t.rejects(outcome, { name: 'UnknownOutcome' });
  t.equal(inserts.length, 2, 'it may still be under way, and come later');
  t.strictSame(lookups, ['b']);
});

t.test('rows that the engine ended, and that are not there, were refused', async (t) => {
  const { group, inserts, lookups, answer } = open();
  const first = group.write(row('a'));
  const second = group.write(row('b'));
  const refusal = overloaded('cancelled');
  answer(() => new UnknownOutcome(new Error('cancelled'), refusal));
  inserts[0]?.succeed();
  await first;
  await t.rejects(second, refusal);
  t.strictSame(lookups, ['b']);
});

t.test('rows that have to be there first are, and those that they are for fail with them', async (t) => {
  const { group, inserts, answer } = open();
  const keyed = (id: string) =>
    row(id, { before: { table: 'k', columns: ['k'], lines: Buffer.from(`k${id}\n`) } });
  const first = group.write(row('0'));
  const outcome = Promise.allSettled([keyed('1'), row('2'), keyed('3')].map((batch) => group.write(batch)));
  answer(({ table, text }) => (table === 'k' && text.includes('k3') ? new Error('no room') : null));
  inserts[0]?.succeed();
  await first;
  t.match(await outcome, [
    { status: 'fulfilled' },
    { status: 'fulfilled' },
    { status: 'rejected', reason: { message: 'no room' } },
  ]);
  const order = inserts.map(({ table, text }) => `${table} ${text.replaceAll('\n', ' ')}`.trim());
  t.strictSame(order.slice(0, 2), ['t 0', 'k k1 k3']);
  t.ok(order.indexOf('k k1') < order.findIndex((insert) => /^t .*1/.test(insert)), 'keys come first');
  t.notOk(
    order.some((insert) => /^t .*3/.test(insert)),
    'no row without its key',
  );
});
