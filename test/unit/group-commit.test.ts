import t from 'tap';
import type { Database, ReadStatement } from '../../common/clickhouse/database.ts';
import { GroupCommit, type RowBatch } from '../../common/clickhouse/group-commit.ts';
import { UnknownOutcome } from '../../common/clickhouse/unknown-outcome.ts';
import { overloaded } from '../../common/errors/catalogue.ts';

interface Insert {
  readonly table: string;
  readonly columns: readonly string[];
  readonly text: string;
  readonly signal: AbortSignal | undefined;
  succeed(): void;
  fail(error: Error): void;
}

/** A database that notes INSERTs, and keeps them until they are told how they end. */
function stubDatabase(stored: (id: string) => boolean = () => false) {
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
    db,
    inserts,
    lookups,
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

const create = (db: Database, limits: { pendingLimit?: number; insertLimit?: number } = {}): GroupCommit =>
  new GroupCommit({ db, pendingLimit: 1000, insertLimit: 100, ...limits });
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
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
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
  const { db, inserts } = stubDatabase();
  const group = create(db);
  const states = outcomes(['1', '2', '3', '4'].map((id) => group.write(row(id))));
  await turn();
  t.strictSame(
    inserts.map(({ text }) => text),
    ['1\n'],
  );
  t.equal(inserts[0]?.signal, undefined, 'an INSERT for many is not stopped by one');
  inserts[0]?.succeed();
  await turn();
  t.strictSame(states, ['stored', 'waiting', 'waiting', 'waiting']);
  t.strictSame(
    inserts.map(({ text }) => text),
    ['1\n', '2\n3\n4\n'],
  );
  inserts[1]?.succeed();
  await turn();
  t.strictSame(states, ['stored', 'stored', 'stored', 'stored']);
  const again = group.write(row('5'));
  await turn();
  inserts[2]?.succeed();
  await again;
});

t.test('an INSERT waits for the writes that are expected, and for no others', async (t) => {
  const { db, inserts } = stubDatabase();
  let expected = 3;
  // the time alone would not let it go within this test
  const gather = { expected: () => expected, wait: 2 ** 30 };
  const group = new GroupCommit({ db, pendingLimit: 1000, insertLimit: 100, gather });
  const states = outcomes(['1', '2'].map((id) => group.write(row(id))));
  await turn();
  t.equal(inserts.length, 0);
  const third = group.write(row('3'));
  await turn();
  t.strictSame(
    inserts.map(({ text }) => text),
    ['1\n2\n3\n'],
  );
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
  const stub = stubDatabase();
  stub.answer(() => null);
  const gather = { expected: () => 5, wait: 1 };
  const group = new GroupCommit({ db: stub.db, pendingLimit: 1000, insertLimit: 100, gather });
  await Promise.all([group.write(row('1')), group.write(row('2'))]);
  t.strictSame(
    stub.inserts.map(({ text }) => text),
    ['1\n2\n'],
  );
});

t.test('homes do not wait for each other, and tables and column lists do not mix', async (t) => {
  const { db, inserts } = stubDatabase();
  const group = create(db);
  const all = [
    group.write(row('1')),
    group.write(row('2', { columns: ['a', 'b'] })),
    group.write(row('3')),
    group.write(row('4', { columns: ['a', 'b'] })),
    group.write(row('5', { table: 'u' })),
    group.write(row('6', { home: 'other' })),
  ];
  await turn();
  t.strictSame(
    inserts.map(({ text }) => text),
    ['1\n', '6\n'],
  );
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
  const { db, inserts } = stubDatabase();
  const group = create(db, { insertLimit: 10 });
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
  const { db, inserts, answer } = stubDatabase();
  const group = create(db);
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
  for (let i = 0; i < 50; i++) await turn();
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
  const { db, inserts, lookups, answer } = stubDatabase((id) => id === 'b');
  const group = create(db);
  const states = outcomes(['a', 'b', 'c'].map((id) => group.write(row(id))));
  await turn();
  answer(() => new Error('connection reset'));
  inserts[0]?.succeed();
  for (let i = 0; i < 20; i++) await turn();
  t.strictSame(states, ['stored', 'stored', 'stored']);
  t.equal(inserts.length, 2);
  t.strictSame(lookups, ['b']);
});

t.test('when even the look fails, the first error is what everybody hears', async (t) => {
  const { db, inserts, answer } = stubDatabase(() => {
    throw new Error('gone too');
  });
  const group = create(db);
  const states = outcomes(['a', 'b'].map((id) => group.write(row(id))));
  await turn();
  answer(() => new Error('connection reset'));
  inserts[0]?.fail(new Error('connection reset'));
  for (let i = 0; i < 20; i++) await turn();
  t.strictSame(states, ['connection reset', 'connection reset']);
  t.equal(inserts.length, 2);
});

t.test('a refusal by the database is not tried again', async (t) => {
  const { db, inserts, lookups, answer } = stubDatabase();
  const group = create(db);
  const states = outcomes(['a', 'b', 'c'].map((id) => group.write(row(id))));
  await turn();
  answer(() => overloaded('no room'));
  inserts[0]?.succeed();
  for (let i = 0; i < 20; i++) await turn();
  t.match(states, ['stored', /no room/, /no room/]);
  t.equal(inserts.length, 2);
  t.strictSame(lookups, []);
});

t.test('what waits is bounded, and room comes back', async (t) => {
  const { db, inserts, answer } = stubDatabase();
  const group = create(db, { pendingLimit: 10 });
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
    const { db, inserts, answer } = stubDatabase();
    const group = create(db);
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
    for (let i = 0; i < 5; i++) await turn();
    t.strictSame(states, ['stored', 'client gone', 'stored']);
    t.strictSame(
      inserts.map(({ text }) => text),
      ['1\n', '3\n'],
    );
    await group.write(row('4'));
  },
);

t.test('all that waited went away', async (t) => {
  const { db, inserts, answer } = stubDatabase();
  const group = create(db);
  const gone = new AbortController();
  const states = outcomes([group.write(row('1')), group.write(row('2', { signal: gone.signal }))]);
  await turn();
  gone.abort(new Error('client gone'));
  answer(() => null);
  inserts[0]?.succeed();
  await turn();
  t.strictSame(states, ['stored', 'client gone']);
  await group.write(row('3'));
  t.strictSame(
    inserts.map(({ text }) => text),
    ['1\n', '3\n'],
  );
});

t.test('rows of an INSERT whose outcome is unknown are not inserted a second time', async (t) => {
  const stub = stubDatabase();
  const commit = create(stub.db);
  const first = commit.write(row('a'));
  const others = ['b', 'c'].map((id) => commit.write(row(id)));
  stub.answer(() => new UnknownOutcome(new Error('the connection broke')));
  stub.inserts[0]?.succeed();
  await first;
  for (const outcome of others) await t.rejects(outcome, { name: 'UnknownOutcome' });
  t.equal(stub.inserts.length, 2, 'it may still be under way, and come later');
  t.strictSame(stub.lookups, ['b']);
});

t.test('in a cluster one row proves nothing of the others: an unknown outcome stays one', async (t) => {
  const stub = stubDatabase(() => true);
  stub.answer(() => new UnknownOutcome(new Error('the connection broke')));
  await create(stub.db).write(row('a'));
  t.strictSame(stub.lookups, ['a'], 'in one store the row is looked up');
  const sharded = create({ ...stub.db, cluster: 'main' });
  await t.rejects(sharded.write(row('b')), UnknownOutcome);
  t.strictSame(stub.lookups, ['a']);
});

t.test('rows that have to be there first are, and those that they are for fail with them', async (t) => {
  const stub = stubDatabase();
  const commit = create(stub.db);
  const keyed = (id: string) =>
    row(id, { before: { table: 'k', columns: ['k'], lines: Buffer.from(`k${id}\n`) } });
  const first = commit.write(row('0'));
  const outcome = Promise.allSettled([keyed('1'), row('2'), keyed('3')].map((batch) => commit.write(batch)));
  stub.answer(({ table, text }) => (table === 'k' && text.includes('k3') ? new Error('no room') : null));
  stub.inserts[0]?.succeed();
  await first;
  t.match(await outcome, [
    { status: 'fulfilled' },
    { status: 'fulfilled' },
    { status: 'rejected', reason: { message: 'no room' } },
  ]);
  const order = stub.inserts.map(({ table, text }) => `${table} ${text.replaceAll('\n', ' ')}`.trim());
  t.strictSame(order.slice(0, 2), ['t 0', 'k k1 k3']);
  t.ok(order.indexOf('k k1') < order.findIndex((insert) => /^t .*1/.test(insert)), 'keys come first');
  t.notOk(
    order.some((insert) => /^t .*3/.test(insert)),
    'no row without its key',
  );
});
