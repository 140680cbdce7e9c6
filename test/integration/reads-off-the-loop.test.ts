import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { openChdb } from '../../common/clickhouse/chdb-database.ts';

const chdb = createRequire(import.meta.url)('chdb') as typeof import('chdb');
const { queryStream, query } = chdb.Session.prototype;
/** What streams were begun with. */
const begun: string[] = [];
chdb.Session.prototype.queryStream = function (...args) {
  begun.push(args[0]);
  return queryStream.apply(this, args);
};
/** What was run on the event loop. */
const blocking: string[] = [];
chdb.Session.prototype.query = function (...args) {
  blocking.push(args[0]);
  return query.apply(this, args);
};
const db = openChdb({ path: `${t.testdir()}/chdb`, reads: { timeout: 1000 } });
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

t.test('a stream that ends before its turn is not begun: to end it would be to compute it', async (t) => {
  // two of an account are computed at once, and these never have a chunk
  const endless = 'SELECT sum(cityHash64(number, toString(number))) AS s FROM numbers(60000000000)';
  const computed = [1, 2].map(() => db.stream({ sql: endless, format: 'TSVRaw', account: 'a' }));
  const controller = new AbortController();
  const waiting = [1, 2, 3].map(() =>
    db.stream({ sql: 'SELECT 1', format: 'TSVRaw', account: 'a', signal: controller.signal }),
  );
  // all have what they need by then, but for their turn
  while (begun.length < 2) await sleep(5);
  await sleep(50);
  controller.abort(new Error('gone'));
  await Promise.all(waiting.map((stream) => t.rejects(stream, { message: 'gone' })));
  await Promise.all(computed.map((stream) => t.rejects(stream, { code: 'deadline_exceeded' })));
  t.strictSame(begun, [endless, endless]);
  const after = await db.stream({ sql: 'SELECT 2', format: 'TSVRaw', account: 'a' });
  for await (const chunk of after) t.equal(Buffer.from(chunk).toString(), '2\n', 'and others are computed');
});
