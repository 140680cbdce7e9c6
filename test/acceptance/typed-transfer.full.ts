/** Values of all types, up to their limits, between servers, between stores, and through each format. */
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { call, type FieldInput, fieldsOf, structureOf } from '../services/record-client.ts';
import { startClickhouse } from '../services/start-clickhouse.ts';
import { runScript, runToEnd, type Sluice, sluiceFor } from '../services/start-sluice.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';
import { watchChild } from '../services/watch-child.ts';

const decimal = (name: string, precision: number, scale: number, more: object = {}): FieldInput => ({
  name,
  type: 'DECIMAL',
  precision,
  scale,
  ...more,
});
const fields: readonly FieldInput[] = [
  ...fieldsOf('name TEXT required, n NUMBER, ok BOOLEAN, tags ARRAY, extra OBJECT'),
  ...fieldsOf('at DATETIME unique, day DATE, whole INTEGER, big BIGINT unique, secret BIGINT hashed'),
  decimal('price', 18, 2, { unique: true }),
  decimal('exact', 38, 10),
  decimal('fraction', 38, 38),
  decimal('units', 18, 0),
  // more than the table has columns for
  ...fieldsOf('b1 BIGINT, b2 BIGINT, b3 BIGINT, b4 BIGINT, d8 DATE, t8 DATETIME'),
  { name: 'due', type: 'DATE', defaultValue: '9999-12-31' },
  decimal('fee', 9, 3, { defaultValue: '-0.5' }),
];
const records = [
  {
    ...{ name: 'lowest', n: -1.5e-300, ok: false, tags: [], extra: {} },
    ...{ at: '0001-01-01T00:00:00Z', day: '0001-01-01', whole: -9007199254740991 },
    ...{ big: '-9223372036854775808', price: '-9999999999999999.99', units: '-999999999999999999' },
    exact: '-9999999999999999999999999999.9999999999',
    fraction: `-0.${'9'.repeat(38)}`,
    ...{ d8: '0001-01-01', t8: '0001-01-01T00:00:00.000001Z', b4: '-9223372036854775808' },
    secret: '-9223372036854775808',
  },
  {
    ...{
      name: 'highest',
      n: 1.7976931348623157e308,
      ok: true,
      tags: [1, '9.99'],
      extra: { at: '9999-12-31' },
    },
    ...{ at: '9999-12-31T23:59:59.999999Z', day: '9999-12-31', whole: 9007199254740991 },
    ...{ big: '9223372036854775807', price: '9999999999999999.99', units: '999999999999999999' },
    exact: '9999999999999999999999999999.9999999999',
    fraction: `0.${'0'.repeat(37)}1`,
    ...{ d8: '9999-12-31', t8: '9999-12-31T23:59:59.999999Z', b4: '9223372036854775807' },
    due: '1970-01-01',
    fee: '999999.999',
  },
  {
    ...{ name: 'around 1970', n: 0, at: '1969-12-31T23:59:59.999999Z', day: '1969-12-31', whole: 0 },
    ...{ big: '-1', price: '-0.01', exact: '-0.0000000001', fraction: '0', units: '0' },
  },
  { name: 'without', due: '2299-12-31' },
  {
    name: 'around 1900',
    at: '1899-12-31T23:59:59.9Z',
    day: '1899-12-31',
    price: '0',
    t8: '2300-01-01T00:00:00Z',
  },
];
const structure = structureOf('exact', 'all', fields);
const stored = { 'use-pre-stored-structure': 'true' };

const formats = ['csv', 'json', 'ndjson', 'parquet', 'arrow'];

async function valuesOf({ baseUrl, token }: Sluice, slug = 'all'): Promise<readonly unknown[]> {
  const { status, body } = await call({ baseUrl, token, path: `/exact/${slug}`, headers: stored });
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body;
}

async function backupTokenOf({ dataDir }: Sluice, env: Record<string, string> = {}): Promise<string> {
  const may = 'find,insert,structure,files:read,files:write,backup';
  return (await runToEnd('cli/token.ts', ['--may', may], { DATA_DIR: dataDir, ...env })).stdout.trim();
}

/** Exports a project from one server, and imports it into another. */
async function transferred(t: Test, from: Sluice, to: Sluice, env: readonly [object, object]): Promise<void> {
  const folder = join(await temporaryFolder(t), 'export');
  const run = async (script: string, sluice: Sluice, more: object, ...args: string[]) => {
    const token = await backupTokenOf(sluice, more as Record<string, string>);
    const result = await runToEnd(script, [folder, ...args], {
      SLUICE_URL: sluice.baseUrl,
      SLUICE_TOKEN: token,
    });
    if (result.status !== 0) throw new Error(`${script}: ${result.stderr}${result.stdout}`);
  };
  await run('cli/export.ts', from, env[0]);
  await run('cli/import.ts', to, env[1]);
  await run('cli/import.ts', to, env[1], '--verify');
}

const embedded = await sluiceFor(t);
const servers = await Promise.all([startClickhouse(), startClickhouse()]);
t.teardown(() => Promise.all(servers.map((server) => server.close())));
const servedEnv = { CLICKHOUSE_URL: servers.map(({ url }) => url).join(';') };
const served = await sluiceFor(t, { env: servedEnv });
let answers: readonly unknown[] = [];

t.test('a server without ClickHouse to one with it', async (t) => {
  const { baseUrl, token } = embedded;
  const inserted = await call({ baseUrl, token, path: '/exact/all', structure, body: records });
  t.equal(inserted.status, 200);
  // what an update has written is in other parts
  const change = {
    at: '2026-01-31T12:00:00.123456Z',
    big: '7',
    price: '12.3',
    exact: '0.5',
    d8: '1970-01-01',
  };
  const updated = await call({
    baseUrl,
    token,
    path: '/exact/all/update?name=without',
    structure,
    body: change,
  });
  t.equal(updated.status, 200);
  answers = await valuesOf(embedded);
  t.match(answers, [
    { at: '0001-01-01T00:00:00.000Z', fraction: `-0.${'9'.repeat(38)}`, due: '9999-12-31', fee: '-0.500' },
    { at: '9999-12-31T23:59:59.999999Z', big: '9223372036854775807', b4: '9223372036854775807' },
    { at: '1969-12-31T23:59:59.999999Z', price: '-0.01' },
    { at: '2026-01-31T12:00:00.123456Z', price: '12.30', exact: '0.5000000000', d8: '1970-01-01' },
    { at: '1899-12-31T23:59:59.900Z', t8: '2300-01-01T00:00:00.000Z' },
  ]);
  await transferred(t, embedded, served, [{}, servedEnv]);
  t.strictSame(await valuesOf(served), answers);
});

t.test('from one store to another', async (t) => {
  const { baseUrl, token } = served;
  const storeOf = async () =>
    (await call({ baseUrl, token, path: '/_projects_/exact/spaces' })).body.spaces[0].store.name as string;
  const before = await storeOf();
  const target = servers.map(({ url }) => new URL(url).host).find((host) => host !== before) ?? '';
  const moving = runScript('cli/move-space.ts', ['exact/all', target], {
    DATA_DIR: served.dataDir,
    ...servedEnv,
  });
  const { untilWritten, end } = watchChild(moving, 'cli/move-space.ts');
  await untilWritten(/is in the other store/);
  // it would wait for minutes before it deletes the old records
  await end('SIGKILL');
  await eventuallyEqual(t, storeOf, target);
  t.strictSame(await valuesOf(served), answers);
  const found = await call({ baseUrl, token, path: '/exact/all?price=-0.01', headers: stored });
  t.match(found.body, [{ name: 'around 1970' }]);
  const again = { name: 'again', big: '9223372036854775807' };
  t.match(await call({ baseUrl, token, path: '/exact/all', headers: stored, body: [again] }), {
    status: 400,
  });
});

t.test('and back', async (t) => {
  const back = await sluiceFor(t);
  await transferred(t, served, back, [servedEnv, {}]);
  t.strictSame(await valuesOf(back), answers);
});

for (const format of formats) {
  t.test(`an export as ${format}, imported into a space with the same fields`, async (t) => {
    const headers = { authorization: `Bearer ${embedded.token}`, ...stored };
    const file = await fetch(`${embedded.baseUrl}/exact/all/_export_.${format}`, { headers });
    t.equal(file.status, 200);
    const bytes = new Uint8Array(await file.arrayBuffer());
    const { baseUrl, token } = served;
    const path = `/exact/${format}`;
    // a hashed value is not exported
    const like = fields.filter(({ name }) => name !== 'secret');
    await call({
      baseUrl,
      token,
      path: `${path}/set-structure`,
      body: JSON.parse(structureOf('exact', format, like)),
    });
    const sent = await fetch(`${baseUrl}${path}/_import_?format=${format}&keep=id,createdAt,updatedAt`, {
      method: 'POST',
      headers: { authorization: `Bearer ${await backupTokenOf(served, servedEnv)}`, ...stored },
      body: bytes,
    });
    const begun = (await sent.json()) as { readonly id: string };
    t.equal(sent.status, 202);
    let job = { state: '' };
    await eventuallyEqual(
      t,
      async () => {
        job = (await call({ baseUrl, token, path: `/_jobs_/${begun.id}` })).body;
        return ['done', 'failed'].includes(job.state);
      },
      true,
    );
    t.match(job, { state: 'done', problems: [] });
    t.strictSame(await valuesOf(served, format), answers);
  });
}
