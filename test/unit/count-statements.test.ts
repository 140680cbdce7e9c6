import t from 'tap';
import { countStatements } from '#engine/count-statements.ts';
import type { Database } from '#engine/database.ts';
import { oneStore } from '#engine/store-list.ts';

/** Notes how it is called; each call waits for `gate`. */
function recordingDatabase(calls: unknown[][], gate: Promise<void>): Database {
  const note =
    (name: string) =>
    async (...args: unknown[]): Promise<never> => {
      calls.push([name, ...args]);
      await gate;
      return name as never;
    };
  return {
    replicated: true,
    servers: 3,
    stores: oneStore('a'),
    command: note('command'),
    rows: note('rows'),
    insert: note('insert'),
    async stream(...args) {
      calls.push(['stream', ...args]);
      return (async function* () {
        yield Buffer.from('x');
      })();
    },
    ready: note('ready'),
    close: note('close'),
  };
}

t.test('every argument reaches the database, and what it says of its servers is seen', async (t) => {
  const calls: unknown[][] = [];
  const db = countStatements(recordingDatabase(calls, Promise.resolve()));
  const { signal } = new AbortController();
  const permit = { timeLimit: 1, check() {} };
  const command = { sql: 'sql', signal, permit, home: 'home' };
  await db.command(command);
  const rows = { sql: 'sql', signal, home: 'home' };
  await db.rows(rows);
  const insert = { table: 'table', columns: ['a'], lines: Buffer.from('[]\n'), signal, permit, token: 't' };
  await db.insert(insert);
  const stream = { ...rows, format: 'JSON' };
  await db.stream(stream);
  await db.ready(signal);
  await db.close();
  t.strictSame(calls, [
    ['command', command],
    ['rows', rows],
    ['insert', insert],
    ['stream', stream],
    ['ready', signal],
    ['close'],
  ]);
  t.equal(db.replicated, true);
  t.equal(db.stores.choose('x'), 0);
  t.equal(db.servers, 3);
});

t.test('statements count while they are under way, streams until they are read', async (t) => {
  let open: () => void = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const db = countStatements(recordingDatabase([], gate));
  const done = Promise.all([db.command({ sql: 'a' }), db.rows({ sql: 'b' })]);
  t.equal(db.statementsInFlight, 2);
  open();
  await done;
  t.equal(db.statementsInFlight, 0);
  for await (const _ of await db.stream({ sql: 'c', format: 'JSON' })) t.equal(db.statementsInFlight, 1);
  t.equal(db.statementsInFlight, 0);
});
