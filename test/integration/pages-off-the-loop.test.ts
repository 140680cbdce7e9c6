import { createRequire } from 'node:module';
import t from 'tap';
import { openChdb } from '../../common/clickhouse/chdb-database.ts';

const chdb = createRequire(import.meta.url)('chdb') as typeof import('chdb');

t.test('a page begins no stream, which the engine plans on the event loop', async (t) => {
  const db = openChdb({ path: `${t.testdir()}/chdb` });
  t.teardown(() => db.close());
  const begun: string[] = [];
  const { queryStream } = chdb.Session.prototype;
  chdb.Session.prototype.queryStream = function (...args) {
    begun.push(args[0]);
    return queryStream.apply(this, args);
  };
  t.teardown(() => {
    chdb.Session.prototype.queryStream = queryStream;
  });
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
