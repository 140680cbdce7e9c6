import t from 'tap';
import type { Database, ReadStatement, WriteStatement } from '#engine/database.ts';
import { overloaded } from '#kernel/errors/catalogue.ts';
import { UnknownOutcome } from '#kernel/errors/unknown-outcome.ts';
import { unmeasured } from '#kernel/telemetry/create-metrics.ts';
import { RecordsTable } from '#records/sql/records-table.ts';
import type { StoredRow } from '#records/sql/stored-row.ts';
import { createChangeCommit } from '#records/store/change-commit.ts';
import type { ChangeStep, RecordChange } from '#records/store/record-store.ts';
import { createStructure } from '#records/structure/structure.ts';
import { spaceWith, storedStructure } from '../services/stored-structure.ts';

const structure = storedStructure([{ name: 'a', type: 'TEXT' }]);
const space = spaceWith(structure);
/** Of a home of its own, where there are several. */
const elsewhere = { ...space, id: space.id.replace('00', '01') };
const sibling = { ...space, id: space.id.replace(/.$/, '1') };
const table = new RecordsTable({ servers: 2 }, 'd');
const signal = new AbortController().signal;

/** Records of ids are there unless they begin with "no"; a statement ends when the test says so. */
function fakeDatabase() {
  const statements: string[] = [];
  const reads: string[] = [];
  const waiting: { resolve: () => void; reject: (error: Error) => void }[] = [];
  let fail: (sql: string) => Error | null = () => null;
  let open = true;
  const db = {
    command: async ({ sql }: WriteStatement) => {
      statements.push(sql);
      if (!open) await new Promise<void>((resolve, reject) => waiting.push({ resolve, reject }));
      const error = fail(sql);
      if (error !== null) throw error;
    },
    insert: async () => {},
    rows: async ({ sql }: ReadStatement) => {
      reads.push(sql);
      return addressesOf(sql)
        .filter(({ _id }) => !_id.startsWith('no'))
        .map((address) => ({ ...address, _created_at: 'c', _updated_at: 'u', _doc: { t0: 'x' } }));
    },
  } as unknown as Database;
  return {
    db,
    statements,
    reads,
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

const limits = { table, pendingLimit: 1_000_000, statementLimit: 1_000_000, recordLimit: 100 };
const change = (
  id: string,
  { assignments, ...more }: Partial<RecordChange> & Partial<ChangeStep> = {},
): RecordChange => ({
  space,
  steps: [{ id, assignments: assignments === undefined ? [{ slot: 't0', value: `v${id}` }] : assignments }],
  signal,
  ...more,
});
/** @param more limits that differ from the usual */
function open(more: Partial<typeof limits> = {}) {
  const fake = fakeDatabase();
  const real = createChangeCommit({
    db: fake.db,
    ...limits,
    ...more,
    metrics: unmeasured,
    values: { wrote() {} },
  });
  const commit = async (...changed: Parameters<typeof change>): Promise<StoredRow | null> => {
    const [row = null] = await real.commit(change(...changed));
    return row;
  };
  return { ...fake, real, commit };
}
const addressesOf = (sql: string): { _space: string; _id: string }[] => {
  // those of one space are told by their ids alone
  const [, one, ids] =
    /space = '([\w-]+)' AND _id (?:IN \(([^)]*)\)|= ('[^']*'))/.exec(sql)?.filter(Boolean) ?? [];
  if (one !== undefined)
    return (ids as string).split(', ').map((id) => ({ _space: one, _id: id.slice(1, -1) }));
  const pairs = sql.slice(sql.lastIndexOf('(space, _id) IN (')).matchAll(/\('([\w-]+)', '(\w+)'\)/g);
  return [...pairs].map(([, _space = '', _id = '']) => ({ _space, _id }));
};
const idsOf = (sql: string): string[] => addressesOf(sql).map(({ _id }) => _id);
/** The row that the fake database has of an id. */
const hasRow = (row: StoredRow | null, id: string): boolean => row?._id === id && row._doc.t0 === 'x';

t.test('what waits for the same slots becomes one statement, of whatever spaces', async (t) => {
  const { commit, ...fake } = open();
  fake.block();
  const other = [{ slot: 't1', value: 'x' }];
  const outcomes = Promise.all([
    commit('r1'),
    commit('r2'),
    commit('r3', { assignments: other }),
    commit('r4', { space: sibling }),
    commit('r5', { assignments: null }),
    commit('r6', { assignments: null, space: sibling }),
    commit('r7', { space: elsewhere }),
  ]);
  await new Promise(setImmediate);
  t.strictSame(fake.statements.map(idsOf), [['r1'], ['r7']], 'one at a time for each home');
  fake.release();
  t.strictSame(
    (await outcomes).map((row) => row?._id),
    [1, 2, 3, 4, 5, 6, 7].map((n) => `r${n}`),
  );
  t.strictSame(fake.statements.map(idsOf), [['r1'], ['r7'], ['r2', 'r4'], ['r3'], ['r5', 'r6']]);
  t.strictSame(addressesOf(fake.statements[2] ?? '')[1], { _space: sibling.id, _id: 'r4' });
});

const large = [{ slot: 't0', value: 'x'.repeat(5000) }];
const gathered: readonly {
  readonly name: string;
  readonly more?: Partial<typeof limits>;
  readonly changes: readonly Parameters<typeof change>[];
  readonly statements: readonly (readonly string[])[];
}[] = [
  {
    name: 'a record is not twice in a statement, and keeps its turn',
    changes: [['r1'], ['r2'], ['r1']],
    statements: [['r1', 'r2'], ['r1']],
  },
  {
    name: 'one id in two spaces is two records',
    changes: [['r1'], ['r1', { space: sibling, assignments: [{ slot: 't0', value: 'of the sibling' }] }]],
    statements: [['r1'], ['r1']],
  },
  {
    name: 'limits of a statement',
    more: { statementLimit: 3000, recordLimit: 3 },
    changes: [['r1'], ['r2'], ['r3'], ['r4'], ['r5', { assignments: large }], ['r6']],
    statements: [['r1', 'r2', 'r3'], ['r4'], ['r5'], ['r6']],
  },
];
for (const { name, more, changes, statements } of gathered) {
  t.test(name, async (t) => {
    const { commit, ...fake } = open(more);
    fake.block();
    const all = Promise.all([commit('first'), ...changes.map((changed) => commit(...changed))]);
    fake.release();
    await all;
    t.strictSame(fake.statements.map(idsOf), [['first'], ...statements]);
    for (const sql of fake.statements)
      t.equal(addressesOf(sql)[0]?._space === sibling.id, sql.includes('of the sibling'));
  });
}

t.test('an account that floods does not push back the one change of another', async (t) => {
  const { real, ...fake } = open({ recordLimit: 10 });
  fake.block();
  const flood = Array.from({ length: 500 }, (_, i) => real.commit(change(`f${i}`)));
  const lonely = { ...sibling, ownerId: 'lonely' };
  const one = real.commit(change('one', { space: lonely, assignments: null }));
  fake.release();
  await one;
  t.ok(fake.statements.length <= 3, `${fake.statements.length} statements`);
  await Promise.all(flood);
  t.equal(fake.statements.length, 52);
});

t.test('no such record is null, and no statement is made to remove nothing', async (t) => {
  const { commit, ...fake } = open();
  t.equal(await commit('none'), null);
  t.equal(fake.statements.length, 1);
  t.equal(await commit('none', { assignments: null }), null);
  t.equal(fake.statements.length, 1);
});

t.test('one that fails does not fail the others', async (t) => {
  const { commit, ...fake } = open();
  fake.failWhen((sql) => (idsOf(sql).includes('bad') ? new Error('no') : null));
  fake.block();
  const outcomes = Promise.allSettled(['first', 'r1', 'r2', 'bad', 'r3'].map((id) => commit(id)));
  fake.release();
  t.strictSame(
    (await outcomes).map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'fulfilled'],
  );
});

t.test('a refusal is not tried again', async (t) => {
  const { commit, ...fake } = open();
  fake.failWhen((sql) => (idsOf(sql)[0] === 'r1' ? overloaded('full') : null));
  fake.block();
  const outcomes = Promise.allSettled(['first', 'r1', 'r2'].map((id) => commit(id)));
  fake.release();
  t.strictSame(
    (await outcomes).map(({ status }) => status),
    ['fulfilled', 'rejected', 'rejected'],
  );
  t.equal(fake.statements.length, 2);
});

t.test('a removal whose outcome is unknown does not turn into a record that never was', async (t) => {
  const { commit, ...fake } = open();
  fake.failWhen((sql) =>
    sql.startsWith('DELETE') ? new UnknownOutcome(new Error('the connection broke')) : null,
  );
  fake.block();
  const first = commit('first');
  const removals = ['r1', 'r2'].map((id) => commit(id, { assignments: null }));
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
  const { commit, ...fake } = open();
  fake.block();
  const gone = new AbortController();
  const outcomes = Promise.allSettled([commit('first'), commit('r1', { signal: gone.signal }), commit('r2')]);
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
  const { commit, ...fake } = open({ pendingLimit: 2000 });
  fake.block();
  const first = commit('large', { assignments: large });
  await t.rejects(commit('r1'), { status: 503, code: 'overloaded' });
  fake.release();
  t.ok(hasRow(await first, 'large'));
  t.ok(hasRow(await commit('r1'), 'r1'));
});

t.test('requests with other structures get their own fields, by one look', async (t) => {
  const { commit, ...fake } = open();
  fake.block();
  const narrow = { ...space, structure: createStructure({ ...structure, fields: [] }) };
  const all = Promise.all([commit('first'), commit('r1'), commit('r2', { space: narrow })]);
  fake.release();
  const [, r1, r2] = await all;
  t.strictSame(fake.statements.map(idsOf), [['first'], ['r1', 'r2']]);
  t.strictSame(fake.reads.map(idsOf), [['first'], ['r1', 'r2']]);
  t.ok(hasRow(r1, 'r1'));
  t.ok(hasRow(r2, 'r2'));
});
