import t from 'tap';
import type { Database } from '../../common/clickhouse/database.ts';
import { UnknownOutcome } from '../../common/clickhouse/unknown-outcome.ts';
import { overloaded } from '../../common/errors/catalogue.ts';
import { createChangeCommit, type RecordChange } from '../../query/records/change-commit.ts';
import { assignment } from '../../query/sql/change-sql.ts';
import { parseStructure } from '../../query/structure/parse-structure.ts';
import type { Structure } from '../../query/structure/structure.ts';
import { createStructure } from '../../query/structure/structure.ts';
import { structureOf } from '../services/record-client.ts';

const structure = parseStructure(structureOf('p', 's', [{ name: 'a', type: 'TEXT' }])).structure as Structure;
const signal = new AbortController().signal;

/** Records of ids are there unless they begin with "no"; a statement ends when the test says so. */
function fakeDatabase() {
  const statements: string[] = [];
  const waiting: { resolve: () => void; reject: (error: Error) => void }[] = [];
  let fail: (sql: string) => Error | null = () => null;
  let open = true;
  const db = {
    command: async (sql: string) => {
      statements.push(sql);
      if (!open) await new Promise<void>((resolve, reject) => waiting.push({ resolve, reject }));
      const error = fail(sql);
      if (error !== null) throw error;
    },
    rows: async (sql: string) =>
      [...sql.slice(sql.lastIndexOf(' IN (')).matchAll(/'(\w+)'/g)]
        .map(([, id]) => id as string)
        .filter((id) => !id.startsWith('no'))
        .map((id) => ({ _id: id, _record: `{"id":"${id}"}` })),
  } as unknown as Database;
  return {
    db,
    statements,
    block: () => {
      open = false;
    },
    release: () => {
      open = true;
      for (const { resolve } of waiting.splice(0)) resolve();
    },
    failWhen: (rule: typeof fail) => {
      fail = rule;
    },
  };
}

const limits = { pendingLimit: 1_000_000, statementLimit: 1_000_000, recordLimit: 100 };
const change = (id: string, more: Partial<RecordChange> = {}): RecordChange => ({
  table: 't',
  id,
  structure,
  assignments: [assignment('a', 'String', `v${id}`)],
  signal,
  ...more,
});
const idsOf = (sql: string): string[] =>
  [...sql.slice(sql.lastIndexOf(' IN (')).matchAll(/'(\w+)'/g)]
    .map(([, id]) => id as string)
    .filter((id) => id !== 'lightweight_update_force');

t.test('what waits for the same columns becomes one statement', async (t) => {
  const fake = fakeDatabase();
  const commit = createChangeCommit({ db: fake.db, ...limits });
  fake.block();
  const other = [assignment('b', 'String', 'x')];
  const outcomes = Promise.all([
    commit.commit(change('r1')),
    commit.commit(change('r2')),
    commit.commit(change('r3', { assignments: other })),
    commit.commit(change('r4')),
    commit.commit(change('r5', { assignments: null })),
    commit.commit(change('r6', { assignments: null })),
    commit.commit(change('r7', { table: 'u' })),
  ]);
  await new Promise(setImmediate);
  t.strictSame(fake.statements.map(idsOf), [['r1'], ['r7']], 'one at a time for each table');
  fake.release();
  t.strictSame(
    await outcomes,
    [1, 2, 3, 4, 5, 6, 7].map((n) => `{"id":"r${n}"}`),
  );
  t.strictSame(fake.statements.map(idsOf), [['r1'], ['r7'], ['r2', 'r4'], ['r3'], ['r5', 'r6']]);
});

t.test('a record is not twice in a statement, and keeps its turn', async (t) => {
  const fake = fakeDatabase();
  const commit = createChangeCommit({ db: fake.db, ...limits });
  fake.block();
  const all = Promise.all(['first', 'r1', 'r2', 'r1'].map((id) => commit.commit(change(id))));
  fake.release();
  await all;
  t.strictSame(fake.statements.map(idsOf), [['first'], ['r1', 'r2'], ['r1']]);
});

t.test('limits of a statement', async (t) => {
  const fake = fakeDatabase();
  const commit = createChangeCommit({ db: fake.db, ...limits, statementLimit: 3000, recordLimit: 3 });
  fake.block();
  const large = [assignment('a', 'String', 'x'.repeat(5000))];
  const all = Promise.all([
    ...['first', 'r1', 'r2', 'r3', 'r4'].map((id) => commit.commit(change(id))),
    commit.commit(change('r5', { assignments: large })),
    commit.commit(change('r6')),
  ]);
  fake.release();
  await all;
  t.strictSame(fake.statements.map(idsOf), [['first'], ['r1', 'r2', 'r3'], ['r4'], ['r5'], ['r6']]);
});

t.test('no such record is null, and no statement is made to remove nothing', async (t) => {
  const fake = fakeDatabase();
  const commit = createChangeCommit({ db: fake.db, ...limits });
  t.equal(await commit.commit(change('none')), null);
  t.equal(fake.statements.length, 1);
  t.equal(await commit.commit(change('none', { assignments: null })), null);
  t.equal(fake.statements.length, 1);
});

t.test('one that fails does not fail the others', async (t) => {
  const fake = fakeDatabase();
  const commit = createChangeCommit({ db: fake.db, ...limits });
  fake.failWhen((sql) => (idsOf(sql).includes('bad') ? new Error('no') : null));
  fake.block();
  const outcomes = Promise.allSettled(
    ['first', 'r1', 'r2', 'bad', 'r3'].map((id) => commit.commit(change(id))),
  );
  fake.release();
  t.strictSame(
    (await outcomes).map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'fulfilled'],
  );
});

t.test('a refusal is not tried again', async (t) => {
  const fake = fakeDatabase();
  const commit = createChangeCommit({ db: fake.db, ...limits });
  fake.failWhen((sql) => (idsOf(sql)[0] === 'r1' ? overloaded('full') : null));
  fake.block();
  const outcomes = Promise.allSettled(['first', 'r1', 'r2'].map((id) => commit.commit(change(id))));
  fake.release();
  t.strictSame(
    (await outcomes).map(({ status }) => status),
    ['fulfilled', 'rejected', 'rejected'],
  );
  t.equal(fake.statements.length, 2);
});

t.test('a removal whose outcome is unknown does not turn into a record that never was', async (t) => {
  const fake = fakeDatabase();
  const commit = createChangeCommit({ db: fake.db, ...limits });
  fake.failWhen((sql) =>
    sql.startsWith('DELETE') ? new UnknownOutcome(new Error('the connection broke')) : null,
  );
  fake.block();
  const first = commit.commit(change('first'));
  const removals = ['r1', 'r2'].map((id) => commit.commit(change(id, { assignments: null })));
  const outcomes = Promise.allSettled([first, ...removals]);
  fake.release();
  t.match(await outcomes, [
    { status: 'fulfilled' },
    { status: 'rejected', reason: { name: 'UnknownOutcome' } },
    { status: 'rejected', reason: { name: 'UnknownOutcome' } },
  ]);
  t.equal(fake.statements.length, 2);
});

t.test('who gave up while waiting is left out', async (t) => {
  const fake = fakeDatabase();
  const commit = createChangeCommit({ db: fake.db, ...limits });
  fake.block();
  const gone = new AbortController();
  const outcomes = Promise.allSettled([
    commit.commit(change('first')),
    commit.commit(change('r1', { signal: gone.signal })),
    commit.commit(change('r2')),
  ]);
  gone.abort(new Error('gone'));
  fake.release();
  t.match(await outcomes, [
    { status: 'fulfilled' },
    { reason: { message: 'gone' } },
    { status: 'fulfilled' },
  ]);
  t.strictSame(fake.statements.map(idsOf), [['first'], ['r2']]);
});

t.test('too much that waits is 503, and one that is larger than the limit goes alone', async (t) => {
  const fake = fakeDatabase();
  const commit = createChangeCommit({ db: fake.db, ...limits, pendingLimit: 2000 });
  fake.block();
  const large = commit.commit(
    change('large', { assignments: [assignment('a', 'String', 'x'.repeat(5000))] }),
  );
  await t.rejects(commit.commit(change('r1')), { status: 503, code: 'overloaded' });
  fake.release();
  t.equal(await large, '{"id":"large"}');
  t.equal(await commit.commit(change('r1')), '{"id":"r1"}');
});

t.test('requests with other structures get their own fields', async (t) => {
  const fake = fakeDatabase();
  const asked: string[] = [];
  const db = {
    ...fake.db,
    rows: (sql: string) => {
      asked.push(sql);
      return fake.db.rows({ sql });
    },
  } as Database;
  const commit = createChangeCommit({ db, ...limits });
  fake.block();
  const narrow = createStructure({ ...structure, fields: [] });
  const all = Promise.all([
    commit.commit(change('first')),
    commit.commit(change('r1')),
    commit.commit(change('r2', { structure: narrow })),
  ]);
  fake.release();
  await all;
  t.strictSame(fake.statements.map(idsOf), [['first'], ['r1', 'r2']]);
  t.strictSame(asked.map(idsOf), [['first'], ['r1'], ['r2']]);
  t.notMatch(asked[2], /`a`/);
});
