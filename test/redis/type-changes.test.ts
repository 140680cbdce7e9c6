/** A field's type changes while two processes write, on one ClickHouse server and one Redis. */
import t from 'tap';
import type { QueryAnswer, QueryCall } from '../services/query-harness.ts';
import { call } from '../services/record-client.ts';
import { startRedis } from '../services/redis.ts';
import { startClickhouse } from '../services/start-clickhouse.ts';
import { killAll, type Sluice, startSluice } from '../services/start-sluice.ts';
import { changeTypesUnderLoad, decimalForm } from '../services/type-change-load.ts';

const server = await startClickhouse();
const redis = await startRedis();
const env = { CLICKHOUSE_URL: server.url, CLICKHOUSE_DATABASE: 'types', REDIS_URL: redis.url };
const processes = await Promise.all([1, 2].map(() => startSluice({ script: 'query/main.ts', env })));
t.teardown(async () => {
  await killAll(processes);
  await server.close();
  await redis.stop();
});

/** The same call over HTTP. */
const callOf =
  (sluice: Sluice) =>
  async ({ query = '', path, ...more }: QueryCall): Promise<QueryAnswer> => {
    const text = new URLSearchParams(query as string | [string, string][]).toString();
    const { status, body } = await call({ ...sluice, ...more, path: `${path}?${text}` });
    const refused = status === 200 ? null : body;
    return { status, body, code: refused?.code ?? null, problems: refused?.error ?? [], text: '' };
  };

for (const unique of [false, true]) {
  t.test(`the field is ${unique ? '' : 'not '}unique`, async (t) => {
    const slug = `unique-${unique}`;
    await changeTypesUnderLoad(t, processes.map(callOf), { slug, changes: 5, unique });
  });
}

t.test('the digits behind the point of a DECIMAL change', async (t) => {
  const forms = [decimalForm(2), decimalForm(3)] as const;
  await changeTypesUnderLoad(t, processes.map(callOf), { slug: 'scale', changes: 5, unique: false, forms });
});
