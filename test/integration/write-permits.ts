import type { Test } from 'tap';
import { recordTables } from '#catalogue/migrations/record-tables.ts';
import type { Database } from '#engine/database.ts';
import { GroupCommit } from '#engine/group-commit.ts';
import { layoutOf } from '#engine/table-layout.ts';
import type { WritePermit } from '#engine/write-permit.ts';
import { unavailable } from '#kernel/errors/catalogue.ts';
import { unmeasured } from '#kernel/telemetry/create-metrics.ts';
import { RecordsTable } from '#records/sql/records-table.ts';
import { createChangeCommit } from '#records/store/change-commit.ts';
import { fieldsOf } from '../services/record-client.ts';
import { rejectionOf } from '../services/rejection-of.ts';
import { spaceWith, storedStructure } from '../services/stored-structure.ts';

const table = 'permits.records';
const space = spaceWith(storedStructure(fieldsOf('a TEXT')));
const idle = new AbortController().signal;
const minute = 60_000;
/** A permit that runs out after it was asked so often. */
function permitFor(times: number, timeLimit = minute): WritePermit & { asked: number } {
  return {
    timeLimit,
    asked: 0,
    check() {
      if (++this.asked > times) throw unavailable('The reservation ran out');
    },
  };
}
const always = (): WritePermit => permitFor(Number.POSITIVE_INFINITY);
const row = (id: string, permit: WritePermit | null, more = '') => ({
  table,
  lines: Buffer.from(`${JSON.stringify({ space: space.id, _id: id, t0: `${id}${more}` })}\n`),
  home: 'records',
  account: 'a',
  proof: `SELECT 1 FROM ${table} WHERE space = '${space.id}' AND _id = '${id}' LIMIT 1`,
  signal: idle,
  permit,
});
const change = (id: string, value: string, permit: WritePermit | null) => ({
  space,
  steps: [{ id, assignments: [{ slot: 't0', value }] }],
  signal: idle,
  permit,
});
const inserts = (database: Database) =>
  new GroupCommit({ db: database, pendingLimit: 1e9, insertLimit: 1e9 });
const updates = (database: Database) =>
  createChangeCommit({
    db: database,
    table: new RecordsTable(database, 'permits'),
    pendingLimit: 1e9,
    statementLimit: 1e9,
    recordLimit: 100,
    metrics: unmeasured,
    values: { wrote() {} },
  });

/** What every `Database` does with permits: leave to write that may run out. */
export async function writePermitsSuite(t: Test, db: Database): Promise<void> {
  await db.command({ sql: 'DROP DATABASE IF EXISTS permits' });
  await db.command({ sql: 'CREATE DATABASE permits' });
  for (const sql of recordTables.statements('permits', layoutOf(db))) await db.command({ sql });
  async function stored(prefix: string): Promise<readonly string[]> {
    const rows = await db.rows<{ t0: string }>({
      sql: `SELECT t0 FROM ${table} WHERE startsWith(_id, '${prefix}') ORDER BY _id`,
    });
    return rows.map(({ t0 }) => t0);
  }
  /** Another statement is under way, so that those that follow gather. */
  function busy() {
    let release: () => void = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    let first = true;
    const wait = async (): Promise<void> => {
      if (!first) return;
      first = false;
      await gate;
    };
    const database: Database = {
      ...db,
      insert: (statement) => wait().then(() => db.insert(statement)),
      command: (statement) => wait().then(() => db.command(statement)),
    };
    return { database, release };
  }

  t.test('rows without a permit any more are left out, and those beside them are stored', async (t) => {
    const { database, release } = busy();
    const commit = inserts(database);
    const first = commit.write(row('i0', null));
    const [out, ok, free] = [permitFor(0), always(), null];
    const results = Promise.allSettled([
      commit.write(row('i1', out)),
      commit.write(row('i2', ok)),
      commit.write(row('i3', free)),
    ]);
    release();
    await first;
    t.match(await results, [
      { status: 'rejected', reason: { code: 'unavailable' } },
      { status: 'fulfilled' },
      { status: 'fulfilled' },
    ]);
    t.strictSame(await stored('i'), ['i0', 'i2', 'i3']);
  });

  t.test('a permit that runs out while the INSERT waits for the engine', async (t) => {
    const commit = inserts(db);
    const first = commit.write(row('w0', null));
    // good when the rows are gathered, and over when the statement would go out
    const late = permitFor(1);
    const results = await Promise.allSettled([
      commit.write(row('w1', late)),
      commit.write(row('w2', always())),
    ]);
    await first;
    t.match(results, [{ status: 'rejected', reason: { code: 'unavailable' } }, { status: 'fulfilled' }]);
    t.ok(late.asked >= 2);
    t.strictSame(await stored('w'), ['w0', 'w2']);
  });

  t.test('an INSERT that takes longer than its permit allows is a 503, and stores nothing', async (t) => {
    const more = 'x'.repeat(4_000_000);
    t.match(await rejectionOf(inserts(db).write(row('l1', permitFor(9, 1), more))), {
      code: 'deadline_exceeded',
      status: 503,
    });
    t.strictSame(await stored('l'), []);
    await inserts(db).write(row('l2', always()));
    t.strictSame(await stored('l'), ['l2']);
  });

  t.test('updates: without a permit they are left out, and too slow they are a 503', async (t) => {
    const ids = ['u0', 'u1', 'u2', 'u3'];
    for (const id of ids) await inserts(db).write(row(id, null));
    const { database, release } = busy();
    const commit = updates(database);
    const first = commit.commit(change('u0', 'new 0', null));
    const late = permitFor(1);
    const results = Promise.allSettled([
      commit.commit(change('u1', 'new 1', permitFor(0))),
      commit.commit(change('u2', 'new 2', late)),
      commit.commit(change('u3', 'new 3', always())),
    ]);
    release();
    await first;
    t.match(await results, [
      { status: 'rejected', reason: { code: 'unavailable' } },
      { status: 'rejected', reason: { code: 'unavailable' } },
      { status: 'fulfilled', value: [{ _doc: { t0: 'new 3' } }] },
    ]);
    t.strictSame(await stored('u'), ['new 0', 'u1', 'u2', 'new 3']);
    const tooSlow = permitFor(Number.POSITIVE_INFINITY, 0.001);
    t.match(await rejectionOf(updates(db).commit(change('u1', 'never', tooSlow))), {
      code: 'deadline_exceeded',
    });
    t.strictSame(await stored('u'), ['new 0', 'u1', 'u2', 'new 3']);
  });
}
