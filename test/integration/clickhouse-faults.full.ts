/** What the client of a served engine makes of a server that is away, overloaded, or breaks off. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import t from 'tap';
import type { Database } from '#engine/database.ts';
import { GroupCommit } from '#engine/group-commit.ts';
import { ApiError } from '#kernel/errors/api-error.ts';
import { UnknownOutcome } from '#kernel/errors/unknown-outcome.ts';
import { rejectionOf } from '../services/rejection-of.ts';
import { startClickhouse } from '../services/start-clickhouse.ts';
import { startFaultyClickhouse } from '../services/start-faulty-clickhouse.ts';
import { openTestClickhouse } from '../services/test-clickhouse.ts';

const server = await startFaultyClickhouse({ user: 'sluice', password: 'hunter2-secret' });
const login = { user: 'sluice', password: 'hunter2-secret' };
const db = openTestClickhouse({ url: server.url, ...login });
t.teardown(async () => {
  await db.close();
  await server.close();
});
await db.command({ sql: 'CREATE DATABASE faults' });
await db.command({ sql: 'CREATE TABLE faults.rows (i UInt32) ENGINE = MergeTree ORDER BY i' });
t.beforeEach(() => server.clear());

let next = 0;
const count = async (from: number): Promise<number> =>
  (
    await db.rows<{ n: number }>({
      sql: `SELECT toFloat64(count()) AS n FROM faults.rows WHERE i >= ${from}`,
    })
  )[0]?.n ?? 0;
/** Numbers that no other test has, each higher than the ones before. */
const numbers = (amount: number): number[] => {
  next += 1000;
  return Array.from({ length: amount }, (_, i) => next + i);
};
const line = (i: number): Buffer => Buffer.from(`[${i}]\n`);
const insert = (values: readonly number[]): Promise<void> =>
  db.insert({ table: 'faults.rows', columns: ['i'], lines: Buffer.concat(values.map(line)) });
const allOf = async (chunks: AsyncIterable<Uint8Array>): Promise<number> => {
  let bytes = 0;
  for await (const chunk of chunks) bytes += chunk.byteLength;
  return bytes;
};
const commitOf = (database: Database) =>
  new GroupCommit({ db: database, pendingLimit: 1e6, insertLimit: 1e6 });
const write = (commit: ReturnType<typeof commitOf>, i: number): Promise<void> =>
  commit.write({
    table: 'faults.rows',
    columns: ['i'],
    lines: line(i),
    home: 'rows',
    account: 'a',
    proof: `SELECT 1 FROM faults.rows WHERE i = ${i} LIMIT 1`,
    signal: new AbortController().signal,
  });

t.test('a server that is not there is a 503 for whatever is asked of it', async (t) => {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  listener.close();
  await once(listener, 'close');
  const away = openTestClickhouse({ url: `http://127.0.0.1:${port}`, ...login });
  t.teardown(() => away.close());
  for (const work of [
    () => away.rows({ sql: 'SELECT 1' }),
    () => away.command({ sql: 'CREATE DATABASE x' }),
    () => away.stream({ sql: 'SELECT 1', format: 'TSVRaw' }),
    () => away.insert({ table: 'faults.rows', columns: ['i'], lines: line(1) }),
    () => away.ready(),
  ]) {
    const error = await rejectionOf(work());
    t.match(error, { name: 'ApiError', status: 503, code: 'not_ready', cause: { code: 'ECONNREFUSED' } });
    t.notMatch(error.message, '127.0.0.1', 'clients do not learn where the database is');
  }
});

t.test('a server that takes a statement and says nothing is given up after the deadline', async (t) => {
  const sockets = new Set<Socket>();
  const listener = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).resume();
  }).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  const silent = openTestClickhouse({ url: `http://127.0.0.1:${port}`, ...login, timeout: 200 });
  t.teardown(async () => {
    await silent.close();
    for (const socket of sockets) socket.destroy();
    listener.close();
  });
  t.match(await rejectionOf(silent.rows({ sql: 'SELECT 1' })), {
    status: 503,
    code: 'not_ready',
    cause: { message: /within 200 ms/ },
  });
  t.match(await rejectionOf(silent.stream({ sql: 'SELECT 1', format: 'TSVRaw' })), {
    status: 503,
    code: 'not_ready',
  });
});

t.test('a server that is overloaded is a 503, and a proxy without one is', async (t) => {
  const body = 'Code: 202. DB::Exception: Too many simultaneous queries. (TOO_MANY_SIMULTANEOUS_QUERIES)';
  const action = { kind: 'status', status: 500, body, code: 202 } as const;
  server.fault({ match: 'INSERT', action });
  const error = await rejectionOf(insert(numbers(1)));
  t.match(error, { name: 'ApiError', status: 503, code: 'overloaded', cause: { engineCode: 202 } });
  t.notMatch(error.message, /simultaneous/);

  const page = `<html>${'x'.repeat(300_000)}</html>`;
  server.fault({ match: 'SELECT', action: { kind: 'status', status: 502, body: page } });
  const behind = await rejectionOf(db.rows({ sql: 'SELECT 1' }));
  t.match(behind, { name: 'ApiError', status: 503, code: 'not_ready' });
  t.ok(String((behind.cause as Error).message).length < 500, 'of a page only the beginning is kept');
  t.strictSame(await db.rows({ sql: 'SELECT 1 AS one' }), [{ one: 1 }]);
});

t.test("a wrong password is a 503 with the engine's error behind it, and stands in no error", async (t) => {
  const wrong = openTestClickhouse({ url: server.url, user: 'sluice', password: 'not-the-password' });
  t.teardown(() => wrong.close());
  const error = await rejectionOf(wrong.ready());
  t.match(error, { status: 503, code: 'not_ready', cause: { engineCode: 516 } });
  t.notMatch(JSON.stringify([error, error.stack, error.message]), /not-the-password|bm90LXRoZS1wYXNzd29yZA/);
});

t.test('a connection cut before an insert ran: nobody knows, and it is not done twice', async (t) => {
  const [i] = numbers(1) as [number];
  server.fault({ match: 'INSERT', action: { kind: 'cut-before' } });
  const error = await rejectionOf(insert([i]));
  t.ok(error instanceof UnknownOutcome);
  t.notOk(error instanceof ApiError, 'it does not claim that nothing happened');
  t.equal(await count(i), 0);
  t.notMatch(JSON.stringify([error, error.cause, error.stack]), /hunter2|Basic/);
});

t.test('a connection cut after an insert ran: a group commit finds and acknowledges the rows', async (t) => {
  const values = numbers(5);
  const commit = commitOf(db);
  server.fault({ match: 'INSERT', times: 2, action: { kind: 'cut-after' } });
  await Promise.all(values.map((i) => write(commit, i)));
  t.equal(await count(values[0] as number), 5, 'each is there once');
});

t.test('an insert that goes on after its connection was cut is waited for, and found', async (t) => {
  const values = numbers(4);
  const commit = commitOf(db);
  await db.command({ sql: 'ALTER TABLE faults.rows ADD COLUMN slow UInt8 MATERIALIZED sleep(0.4)' });
  t.teardown(() => db.command({ sql: 'ALTER TABLE faults.rows DROP COLUMN slow' }));
  server.fault({ match: 'INSERT', times: 2, action: { kind: 'cut-and-run' } });
  await Promise.all(values.map((i) => write(commit, i)));
  t.equal(await count(values[0] as number), 4, 'each is there once');
});

t.test('rows whose insert was cut and is not found are refused, not inserted anew', async (t) => {
  const values = numbers(4);
  const commit = commitOf(db);
  const [first, ...others] = values as [number, ...number[]];
  server.fault({ match: 'INSERT', action: { kind: 'hold' } });
  const outcomes = [write(commit, first), ...others.map((i) => rejectionOf(write(commit, i)))];
  await server.untilHeld(1);
  server.fault({ match: 'INSERT', action: { kind: 'cut-before' } });
  server.release();
  const [, ...errors] = await Promise.all(outcomes);
  t.ok(errors.every((error) => (error as unknown) instanceof UnknownOutcome));
  t.equal(await count(first), 1, 'only the first INSERT was made');
  const inserts = server.seen.filter(({ statement }) => statement.startsWith('INSERT'));
  t.equal(inserts.length, 2);
});

t.test('an overloaded server gets each insert once', async (t) => {
  const [i] = numbers(1) as [number];
  const body = 'Code: 252. DB::Exception: Too many parts. (TOO_MANY_PARTS)';
  server.fault({
    match: 'INSERT',
    times: 9,
    action: { kind: 'status', status: 500, body, code: 252 },
  });
  const error = await rejectionOf(write(commitOf(db), i));
  t.match(error, { status: 503, code: 'overloaded' });
  t.equal(server.seen.length, 1);
});

t.test('reads that are cut are a 503', async (t) => {
  server.fault({ match: 'SELECT', times: 2, action: { kind: 'cut-before' } });
  t.match(await rejectionOf(db.rows({ sql: 'SELECT 1' })), { status: 503, code: 'not_ready' });
  t.match(await rejectionOf(db.stream({ sql: 'SELECT 1', format: 'TSVRaw' })), {
    status: 503,
    code: 'not_ready',
  });
  t.strictSame(await db.rows({ sql: 'SELECT 1 AS one' }), [{ one: 1 }]);
});

const many = "SELECT toJSONString(repeat('x', 100)) FROM numbers(200000)";

t.test('a stream that is cut in its middle throws, wherever that is', async (t) => {
  for (const bytes of [1, 100_000, 1_000_003]) {
    server.fault({ match: 'repeat', action: { kind: 'cut-middle', bytes } });
    const stream = await db.stream({ sql: many, format: 'TSVRaw' });
    t.match(await rejectionOf(allOf(stream)), { status: 503, code: 'not_ready' }, `after ${bytes} bytes`);
  }
  t.equal(await allOf(await db.stream({ sql: many, format: 'TSVRaw' })), 200_000 * 103);
});

t.test('a stream that the engine fails in its middle throws, though the answer ends in order', async (t) => {
  for (const bytes of [1, 65_536, 1_000_003]) {
    server.fault({ match: 'repeat', action: { kind: 'fail-middle', bytes } });
    const stream = await db.stream({ sql: many, format: 'TSVRaw' });
    let read = 0;
    const error = await rejectionOf(
      (async () => {
        for await (const chunk of stream) read += chunk.byteLength;
      })(),
    );
    t.match(error, { status: 503, code: 'overloaded', cause: { engineCode: 241, message: /by a fault/ } });
    t.equal(read, bytes, 'the data before it, and nothing of the message');
  }
});

t.test('a stream with a slow reader outlives the deadline, one of a silent server does not', async (t) => {
  const quick = openTestClickhouse({ url: server.url, ...login, timeout: 1000 });
  t.teardown(() => quick.close());
  const stream = await quick.stream({ sql: many, format: 'TSVRaw' });
  let read = 0;
  for await (const chunk of stream) {
    if (read === 0) await new Promise((resolve) => setTimeout(resolve, 2000));
    read += chunk.byteLength;
  }
  t.equal(read, 200_000 * 103);

  // the engine sleeps a block's worth of time before each block
  const silent =
    "SELECT sleepEachRow(0.001), repeat('x', 100) FROM numbers(6000) SETTINGS max_block_size = 2000";
  const error = await rejectionOf(quick.stream({ sql: silent, format: 'TSVRaw' }).then(allOf));
  t.match(error, { status: 503, code: 'not_ready', cause: { message: /sent nothing|within 1000 ms/ } });
});

t.test('connections are used again', async (t) => {
  for (let i = 0; i < 10; i++) await db.rows({ sql: 'SELECT 1' });
  const used = new Set(server.seen.map(({ connection }) => connection));
  t.equal(used.size, 1, 'statements in turn need one connection');
});

t.test('every statement carries our settings, and no insert asks for deduplication', async (t) => {
  const [i] = numbers(1) as [number];
  await insert([i]);
  await db.rows({ sql: 'SELECT 1' });
  await allOf(await db.stream({ sql: 'SELECT 1', format: 'TSVRaw' }));
  await db.command({ sql: 'DROP TABLE IF EXISTS faults.nothing' });
  const seen = server.seen;
  t.equal(seen.length, 4);
  for (const { params, statement } of seen) {
    t.match(params, {
      date_time_output_format: 'iso',
      output_format_json_quote_64bit_integers: '0',
      async_insert: '0',
      use_query_cache: '0',
    });
    t.notMatch(JSON.stringify(params), /deduplicat/, statement);
    t.notOk('session_id' in params);
    t.notOk('query' in params, 'statements may be too long for an address');
  }
  t.match(seen[0]?.params, { max_insert_block_size: '100000000', input_format_parallel_parsing: '0' });
  t.match(seen[2]?.params, { max_threads: '1', max_block_size: '2048' });
});

t.test('more statements than connections wait their turn', async (t) => {
  const [first] = numbers(1) as [number];
  const values = Array.from({ length: 150 }, (_, i) => first + i);
  await Promise.all(values.map((i) => insert([i])));
  t.equal(await count(first), 150);
});

t.test('a server that starts anew is used again', async (t) => {
  const own = await startClickhouse();
  const served = openTestClickhouse({ url: own.url });
  t.teardown(() => served.close());
  await served.ready();
  await own.kill();
  t.match(await rejectionOf(served.ready()), { status: 503, code: 'not_ready' });
  const again = await own.restart();
  t.teardown(() => again.close());
  t.strictSame(await served.rows({ sql: 'SELECT 1 AS one' }), [{ one: 1 }]);
});
