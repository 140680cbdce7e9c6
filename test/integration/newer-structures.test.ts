/** A process that serves beside newer ones, as during an upgrade, meets a structure that it can't read. */
import t from 'tap';
import { uuidV5 } from '#kernel/ids/uuid-v5.ts';
import { queryHarnessFor, spaceOf, testDatabase } from '../services/query-harness.ts';
import { fieldsOf } from '../services/record-client.ts';

const harness = await queryHarnessFor(t, {
  singleWriter: false,
  freshness: { freshFor: 20, staleAfter: 50, heardAfter: 50 },
});
const stored = { 'use-pre-stored-structure': 'true' };
const fields = fieldsOf('name TEXT, n NUMBER');
const newer = spaceOf(harness, 'p', 'newer', fields);
const usual = spaceOf(harness, 'p', 'usual', fields);
for (const space of [newer, usual]) await space.insertOne({ name: 'a', n: 1 });

const { signal } = new AbortController();
const id = uuidV5('owner', 'p', 'newer');
const recordsId = (await harness.catalogue.find(id, signal))?.recordsId;
// all that a newer process does, to us
await harness.db.command({
  sql: `INSERT INTO ${testDatabase}.record_spaces
    SELECT * REPLACE (replace(structure, '"NUMBER"', '"MONEY"') AS structure, version + 1 AS version)
    FROM ${testDatabase}.record_spaces FINAL WHERE id = '${id}'`,
});
harness.forget();
const refused = { status: 503, code: 'overloaded', problems: [/this process is older than the structure/] };

t.test('each request for the space is a 503, and nothing is written', async (t) => {
  for (const call of [
    { path: '/p/newer' },
    { path: '/p/newer', body: [{ name: 'b' }] },
    { path: '/p/newer', body: [{ name: 'b' }], headers: { 'infer-structure': 'true' } },
    { path: '/p/newer/update', query: 'name=a', body: { name: 'b' } },
    { path: '/p/newer/_update_', body: { where: { name: 'a' }, set: { name: 'b' } } },
    { method: 'DELETE', path: '/p/newer', query: 'name=a' },
    { path: '/p/newer/_count_' },
    { path: '/_projects_/p/spaces/newer', method: 'GET' },
    { path: '/_projects_/p/spaces', method: 'GET' },
    { method: 'POST', path: '/p/newer/_import_', body: 'name\nb\n', type: 'text/csv' },
  ]) {
    const { type, headers = stored, ...rest } = call;
    const sent = type === undefined ? headers : { ...headers, 'content-type': type };
    t.match(await harness.call({ ...rest, headers: sent }), refused, JSON.stringify(call));
  }
  t.match(await newer.insertOne({ name: 'b' }), refused, 'also with a structure of the request');
  t.match(await newer.make(), refused);
  const rows = await harness.db.rows({
    sql: `SELECT _doc FROM ${testDatabase}.records WHERE space = '${recordsId}'`,
  });
  t.strictSame(rows, [{ _doc: { t0: 'a', n0: '1' } }]);
});

t.test('other spaces are served', async (t) => {
  t.match(await usual.insertOne({ name: 'b', n: 2 }), { status: 200 });
  t.match((await usual.find()).body, [{ n: 1 }, { n: 2 }]);
  t.match(await harness.call({ path: '/_projects_', method: 'GET' }), {
    body: { projects: [{ slug: 'p', spaces: 2 }] },
  });
});
