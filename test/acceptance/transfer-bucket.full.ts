/** Projects that `sluice export --to` and `sluice import --from` move through a bucket. */
import t, { type Test } from 'tap';
import { call, fieldsOf, structureOf } from '../services/record-client.ts';
import { type S3Stub, startS3Stub } from '../services/s3-stub/start-s3-stub.ts';
import { runToEnd, type Sluice, sluiceFor } from '../services/start-sluice.ts';

const megabyte = 1024 ** 2;
const people = structureOf(
  'shop',
  'People',
  fieldsOf('name TEXT unique, password TEXT hashed, born DATE, paid DECIMAL, tags ARRAY, home OBJECT').map(
    (field) => (field.type === 'DECIMAL' ? { ...field, precision: 20, scale: 2 } : field),
  ),
);
const empty = structureOf('shop', 'empty', fieldsOf('text TEXT'));
const records = [
  {
    name: 'Ada',
    password: 'correct horse',
    born: '1815-12-10',
    paid: '123456789012345.67',
    tags: ['a', 1],
    home: { b: [true] },
  },
  { name: 'Größe 🙂', tags: [] },
];
/** Of an upload of one request, of three parts, and of no byte. */
const files: Readonly<Record<string, Buffer>> = {
  'empty.bin': Buffer.alloc(0),
  'Größe 日本 %41.txt': Buffer.from('text'),
  'large.bin': Buffer.alloc(17 * megabyte, 'some bytes, '),
  'exact.bin': Buffer.alloc(8 * megabyte, 'x'),
};

/** Stores bytes as a file of the project. */
async function upload({ baseUrl, token }: Sluice, name: string, bytes: Buffer): Promise<void> {
  const form = new FormData();
  form.set('file', new Blob([new Uint8Array(bytes)]), name);
  const headers = { authorization: `Bearer ${token}` };
  const stored = await fetch(`${baseUrl}/_f_/shop/upload`, { method: 'POST', body: form, headers });
  if (stored.status !== 200) throw new Error(await stored.text());
}

async function filled(t: Test): Promise<Sluice> {
  const sluice = await sluiceFor(t);
  const { baseUrl, token } = sluice;
  for (const [space, structure, body] of [
    ['People', people, records],
    ['empty', empty, [{ text: 'x' }]],
  ] as const) {
    const made = await call({ baseUrl, token, path: `/shop/${space}`, structure, body });
    t.equal(made.status, 200, JSON.stringify(made.body));
  }
  await call({ baseUrl, token, path: '/shop/empty/clear', structure: empty, method: 'DELETE' });
  for (const [name, bytes] of Object.entries(files)) await upload(sluice, name, bytes);
  return sluice;
}

/** The environment of a command, with a token that may make and take backups. */
async function environmentOf({ baseUrl, dataDir }: Sluice, stub: S3Stub): Promise<Record<string, string>> {
  const may = 'find,insert,structure,files:read,files:write,backup';
  const made = await runToEnd('cli/token.ts', ['--may', may], { DATA_DIR: dataDir });
  return {
    SLUICE_URL: baseUrl,
    SLUICE_TOKEN: made.stdout.trim(),
    S3_ENDPOINT: stub.endpoint,
    S3_REGION: stub.region,
    S3_ACCESS_KEY_ID: stub.accessKeyId,
    S3_SECRET_ACCESS_KEY: stub.secretAccessKey,
    S3_REQUEST_TIMEOUT_MS: '5000',
  };
}

t.test('a project moves through a bucket', async (t) => {
  const stub = await startS3Stub({ pageSize: 3 });
  t.teardown(() => stub.close());
  const [from, to] = [await filled(t), await sluiceFor(t)];
  const env = await environmentOf(from, stub);
  const address = `s3://${stub.bucket}/nightly/2026-11-30`;
  const exported = await runToEnd('cli/export.ts', ['--to', address], env);
  t.equal(exported.status, 0, exported.stderr);
  const imported = await runToEnd('cli/import.ts', ['--from', address], await environmentOf(to, stub));
  t.equal(imported.status, 0, imported.stderr);
  const verified = await runToEnd(
    'cli/import.ts',
    ['--from', address, '--verify'],
    await environmentOf(to, stub),
  );
  t.equal(verified.status, 0, verified.stderr + verified.stdout);
});
