/** Several addresses of one store, and TLS. */
import { readFile } from 'node:fs/promises';
import t from 'tap';
import { checkServers } from '#engine/check-servers.ts';
import type { Database } from '#engine/database.ts';
import { certificateFor } from '../services/certificate.ts';
import { openAddress } from '../services/clickhouse-address.ts';
import { rejectionOf } from '../services/rejection-of.ts';
import { startClickhouse } from '../services/start-clickhouse.ts';
import { openTestClickhouse } from '../services/test-clickhouse.ts';

const server = await startClickhouse();
t.teardown(() => server.close());

t.test('servers of one store that share no tables are refused', async (t) => {
  const looks = (rows: readonly object[]) => {
    let index = 0;
    return () => {
      const row = rows[index++ % rows.length] as object;
      return { rows: async () => [row], close: async () => {} } as unknown as Database;
    };
  };
  const config = { url: 'http://a,http://b', database: 'sluice', replicated: false };
  const signal = AbortSignal.timeout(1000);
  const check = (rows: readonly object[], replicated = false): Promise<void> =>
    checkServers({ ...config, replicated }, looks(rows), signal);
  const [one, two] = [
    { server: '1', engine: 'ReplacingMergeTree' },
    { server: '2', engine: 'ReplacingMergeTree' },
  ];
  await t.rejects(check([one, two]), /share no tables/);
  await t.resolves(check([one, one]), 'one server has two addresses');
  const shared = { engine: 'SharedReplacingMergeTree' };
  await t.resolves(
    check([
      { ...one, ...shared },
      { ...two, ...shared },
    ]),
  );
  const good = { ...one, engine: 'ReplicatedMergeTree', macros: ['replica', 'shard'] };
  await t.resolves(check([good, { ...good, server: '2' }], true));
  await t.resolves(check([{ ...good, engine: '' }], true), 'nothing is made yet');
  await t.rejects(check([good, { ...good, macros: ['shard'] }], true), /lacks the macros/);
  await t.rejects(check([{ ...good, engine: 'MergeTree' }], true), /made without CLICKHOUSE_REPLICATED/);
  // the statement itself, by the real engine
  await t.resolves(
    checkServers(
      { ...config, url: `${server.url},${server.url}` },
      (url) => openTestClickhouse({ url }),
      signal,
    ),
  );
});

t.test('a server of which all connections are held by slow statements is not given up', async (t) => {
  const addresses = [await openAddress(server.url), await openAddress(server.url)];
  const changes: string[] = [];
  const note = (_: object, text: string): void => void changes.push(text);
  const db = openTestClickhouse({
    url: addresses.map(({ url }) => url).join(),
    log: { warn: note, info: note } as never,
    times: { patience: 100, probeLimit: 1000 },
  });
  t.teardown(async () => {
    await db.close();
    for (const address of addresses) await address.close();
  });
  for (const address of addresses) {
    address.match = /FROM numbers/;
    await address.set({ kind: 'delay', milliseconds: 1600 });
  }
  // more than there are connections to their home
  const rows = await Promise.all(
    Array.from({ length: 50 }, () => db.rows({ sql: 'SELECT number FROM numbers(1)' })),
  );
  t.equal(rows.flat().length, 50);
  t.strictSame(changes, []);
});

t.test('TLS with a certificate of a private authority', async (t) => {
  const { certFile, keyFile } = await certificateFor(t);
  const ca = await readFile(certFile);
  const address = await openAddress(server.url, { cert: ca, key: await readFile(keyFile) });
  const known = openTestClickhouse({ url: address.url, ca });
  const unknown = openTestClickhouse({ url: address.url });
  t.teardown(async () => {
    await known.close();
    await unknown.close();
    await address.close();
  });
  t.strictSame(await known.rows({ sql: 'SELECT 1 AS one' }), [{ one: 1 }]);
  const error = await rejectionOf(unknown.rows({ sql: 'SELECT 1' }));
  t.match(error, { status: 503, cause: { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' } });
});
