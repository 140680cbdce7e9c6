/**
 * Two processes with CLICKHOUSE_CLUSTER and two addresses. The engine behind them stands for a cluster of one server: it
 * runs Distributed tables, and has no Keeper (test/services/chdb-server/one-node-cluster.ts).
 */
import t from 'tap';
import { openAddress } from '../services/clickhouse-address.ts';
import { call, fieldsOf, structureOf } from '../services/record-client.ts';
import { startChdbServer } from '../services/start-chdb-server.ts';
import { killAll, type Sluice, startSluice } from '../services/start-sluice.ts';

const server = await startChdbServer({ cluster: 'main' });
const addresses = [await openAddress(server.url), await openAddress(server.url)] as const;
const env = {
  CLICKHOUSE_URL: addresses.map(({ url }) => url).join(', '),
  CLICKHOUSE_CLUSTER: 'main',
  CLICKHOUSE_EXPERIMENTAL_CLUSTER: 'true',
  LOG_LEVEL: 'info',
};
// at once, on a server without a database
const sluices = await Promise.all([startSluice({ env }), startSluice({ env })]);
t.teardown(async () => {
  await killAll(sluices);
  for (const address of addresses) await address.close();
  await server.close();
});
const [a, b] = sluices as [Sluice, Sluice];
const structure = structureOf('p', 'people', fieldsOf('name TEXT, age NUMBER'));
const ask = (on: Sluice, path: string, more: object = {}) =>
  call({ ...on, path: `/p/people${path}`, structure, ...more });

t.test('records that one process writes are found by the other', async (t) => {
  const { body } = await ask(a, '/_single_', { body: { name: 'Ada', age: 36 } });
  t.match((await ask(b, '?age=36')).body, [{ name: 'Ada' }]);
  t.match((await ask(b, `/update-by-id?id=${body.id}`, { body: { age: 37 } })).body, {
    name: 'Ada',
    age: 37,
  });
  t.match((await ask(a, '?age=37')).body, [{ id: body.id }]);
  const engines = await (
    await fetch(server.url, {
      method: 'POST',
      body: "SELECT name, engine FROM system.tables WHERE database = 'sluice' AND name LIKE 'record%s%' AND name != 'record_spaces' ORDER BY name",
    })
  ).text();
  t.equal(
    engines,
    'record_keys\tDistributed\nrecord_keys_local\tMergeTree\nrecords\tDistributed\nrecords_local\tMergeTree\n',
  );
});

t.test('a file that one process stores is known to the other', async (t) => {
  const body = new FormData();
  body.set('file', new Blob(['hello']), 'a.txt');
  const headers = { authorization: `Bearer ${a.token}` };
  const uploaded = await fetch(`${a.baseUrl}/_f_/p/upload`, { method: 'POST', headers, body });
  t.equal(uploaded.status, 200);
  const { s3Link } = (await uploaded.json()) as { s3Link: string };
  t.equal(await (await fetch(s3Link)).text(), 'hello');
});

t.test('an address that is gone is not missed, and comes back', async (t) => {
  let next = 100;
  for (const address of addresses) {
    await address.set({ kind: 'dead' });
    for (const on of [a, b, a, b]) {
      const age = ++next;
      t.equal((await ask(on, '/_single_', { body: { name: 'x', age } })).status, 200);
      t.equal((await ask(on === a ? b : a, `?age=${age}`)).body.length, 1);
    }
    await address.set(null);
    const { url } = address;
    const back = (sluice: Sluice): boolean =>
      sluice.stderr().includes(`"url":"${url}","msg":"a ClickHouse server is back"`);
    const aside = (sluice: Sluice): boolean =>
      sluice
        .stderr()
        .split('\n')
        .some((line) => line.includes(url) && line.includes('is set aside'));
    while (![a, b].every((sluice) => !aside(sluice) || back(sluice))) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
  for (const sluice of [a, b]) t.match(sluice.stderr(), 'is set aside', 'the log says so');
  t.equal((await ask(a, '')).body.length, 9);
});

t.test('a cluster has to be allowed', async (t) => {
  const { CLICKHOUSE_EXPERIMENTAL_CLUSTER, ...other } = env;
  await t.rejects(startSluice({ env: other }), /CLICKHOUSE_EXPERIMENTAL_CLUSTER=true allows it/);
});

t.test('a server that knows no such cluster stops the start with one sentence', async (t) => {
  const other = { ...env, CLICKHOUSE_CLUSTER: 'elsewhere' };
  await t.rejects(startSluice({ env: other }), /knows no cluster elsewhere \(CLICKHOUSE_CLUSTER\)/);
});
