import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { openChdb } from '#engine/open-chdb.ts';

const chdb = createRequire(import.meta.url)('chdb') as typeof import('chdb');
const { queryStream, query, queryAsync } = chdb.Session.prototype;
/** What streams were begun with. */
const begun: string[] = [];
chdb.Session.prototype.queryStream = function (...args) {
  begun.push(args[0]);
  return queryStream.apply(this, args);
};
/** What was run on threads. */
const computed: string[] = [];
chdb.Session.prototype.queryAsync = function (...args) {
  computed.push(args[0]);
  return queryAsync.apply(this, args);
};
/** What was run on the event loop. */
const blocking: string[] = [];
chdb.Session.prototype.query = function (...args) {
  blocking.push(args[0]);
  return query.apply(this, args);
};
const db = openChdb({ path: `${t.testdir()}/chdb`, reads: { timeout: 5000 } });
t.teardown(() => db.close());
t.beforeEach(() => {
  begun.length = 0;
});

t.test('a page begins no stream, which the engine plans on the event loop', async (t) => {
  const read = async (sql: string, fewRows: boolean): Promise<number> => {
    let bytes = 0;
    const chunks = await db.stream({ sql, format: 'TSVRaw', fewRows, account: 'a' });
    for await (const chunk of chunks) bytes += chunk.byteLength;
    return bytes;
  };
  t.equal(await read('SELECT number FROM numbers(50)', true), 140);
  t.strictSame(begun, []);
  const large = 'SELECT repeat(toString(number), 100000) FROM numbers(10, 20)';
  t.equal(await read(large, true), 20 * 200_001);
  t.strictSame(begun, [large], 'unless its records are large');
});

t.test('a session in the place of one whose statement failed is opened in one statement', async (t) => {
  blocking.length = 0;
  await t.rejects(db.rows({ sql: 'SELECT throwIf(1)', account: 'a' }));
  await db.rows({ sql: 'SELECT 1', account: 'a' });
  // one for the first of the account, one for its successor: there were fifteen each
  t.ok(blocking.length > 0 && blocking.length <= 2, `${blocking.length} statements`);
});

t.test('reads of an account that asks for much do not come before another one', async (t) => {
  const controller = new AbortController();
  const { signal } = controller;
  const scan = (i: number): string =>
    `SELECT ${i} AS scan, sum(cityHash64(number)) FROM numbers(60000000000)`;
  const scans = (until: number): number =>
    computed.slice(0, until).filter((sql) => sql.includes('AS scan')).length;
  computed.length = 0;
  const flood = Array.from({ length: 12 }, async (_, i) => {
    const read = { sql: scan(i), signal, account: 'flood' };
    await (i % 2 === 0 ? db.rows(read) : db.stream({ ...read, format: 'TSVRaw', fewRows: true }));
  });
  const ends = Promise.allSettled(flood);
  const row = db.rows({ sql: 'SELECT 1 AS one', account: 'other' });
  const page = await db.stream({ sql: 'SELECT 2 AS two', format: 'TSVRaw', fewRows: true, account: 'other' });
  for await (const chunk of page) t.equal(Buffer.from(chunk).toString(), '2\n');
  t.strictSame(await row, [{ one: 1 }]);
  const last = computed.findLastIndex((sql) => / AS (one|two)/.test(sql));
  t.equal(scans(last), 2, 'two, of both kinds, and the other ten wait behind it');
  controller.abort(new Error('gone'));
  t.ok((await ends).every(({ status }) => status === 'rejected'));
});

t.test('a stream that ends before its turn is not begun: to end it would be to compute it', async (t) => {
  // two of an account are computed at once, and these never have a chunk
  const endless = 'SELECT sum(cityHash64(number, toString(number))) AS s FROM numbers(60000000000)';
  const streams = [1, 2].map(() =>
    t.rejects(db.stream({ sql: endless, format: 'TSVRaw', account: 'a' }), { code: 'deadline_exceeded' }),
  );
  const controller = new AbortController();
  const waiting = [1, 2, 3].map(() =>
    db.stream({ sql: 'SELECT 1', format: 'TSVRaw', account: 'a', signal: controller.signal }),
  );
  // all have what they need by then, but for their turn
  while (begun.length < 2) await sleep(5);
  await sleep(50);
  controller.abort(new Error('gone'));
  await Promise.all(waiting.map((stream) => t.rejects(stream, { message: 'gone' })));
  await Promise.all(streams);
  t.strictSame(begun, [endless, endless]);
  const after = await db.stream({ sql: 'SELECT 2', format: 'TSVRaw', account: 'a' });
  for await (const chunk of after) t.equal(Buffer.from(chunk).toString(), '2\n', 'and others are computed');
});

/** A read of the account `one` that would take minutes. @returns what ends it */
function longRead(t: Test): () => Promise<void> {
  const controller = new AbortController();
  const { signal } = controller;
  const sql = 'SELECT sum(cityHash64(number)) FROM numbers(60000000000)';
  const read = t.rejects(db.rows({ sql, signal, account: 'one' }), { message: 'gone' });
  return async () => {
    controller.abort(new Error('gone'));
    await read;
  };
}

t.test('a long read of one account does not hold up those of another that has several', async (t) => {
  const endLong = longRead(t);
  // many blocks: with a pause before each, it took its whole deadline
  const large = 'SELECT max(cityHash64(number)) > 0 AS large FROM numbers(1000000)';
  const reads = [1, 2].map(async () => {
    const chunks = await db.stream({ sql: large, format: 'TSVRaw', fewRows: true, account: 'several' });
    for await (const chunk of chunks) t.equal(Buffer.from(chunk).toString(), '1\n');
  });
  await Promise.all(reads).finally(endLong);
});

t.test('a read that failed is gone from the engine, though another one runs on', async (t) => {
  const endLong = longRead(t);
  const fails = 'SELECT throwIf(number = 200000) FROM numbers(300000)';
  await t.rejects(db.rows({ sql: fails, account: 'two' }), /throwIf/);
  const page = { sql: fails, format: 'TSVRaw', fewRows: true, account: 'two' };
  await t.rejects(db.stream(page), /throwIf/);
  const late = await db.stream({ ...page, sql: fails.replaceAll('00000', '000000'), fewRows: false });
  await t.rejects(async () => {
    for await (const chunk of late) t.ok(chunk.byteLength > 0);
  }, /throwIf/);
  const sql = `SELECT toUInt32(count()) AS n FROM system.processes WHERE query LIKE 'SELECT throwIf%'`;
  t.strictSame(await db.rows({ sql }), [{ n: 0 }]);
  await endLong();
});
