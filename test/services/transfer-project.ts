import type { Test } from 'tap';
import { call, fieldsOf, structureOf } from './record-client.ts';
import { runToEnd, type Sluice, sluiceFor } from './start-sluice.ts';

export const megabyte = 1024 ** 2;
export const people = structureOf(
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
export const files: Readonly<Record<string, Buffer>> = {
  'empty.bin': Buffer.alloc(0),
  'Größe 日本 %41.txt': Buffer.from('text'),
  'large.bin': Buffer.alloc(17 * megabyte, 'some bytes, '),
  'exact.bin': Buffer.alloc(8 * megabyte, 'x'),
};

/** Stores bytes as a file of the project. */
export async function upload({ baseUrl, token }: Sluice, name: string, bytes: Buffer): Promise<void> {
  const form = new FormData();
  form.set('file', new Blob([new Uint8Array(bytes)]), name);
  const headers = { authorization: `Bearer ${token}` };
  const stored = await fetch(`${baseUrl}/_f_/shop/upload`, { method: 'POST', body: form, headers });
  if (stored.status !== 200) throw new Error(await stored.text());
}

/** A server with a project of records and files. */
export async function filledServer(t: Test): Promise<Sluice> {
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

/** The environment of a command, with a token that may make and take backups. @param bucket S3_ENDPOINT and the others */
export async function transferEnvironment(
  { baseUrl, dataDir }: Sluice,
  bucket: Readonly<Record<string, string>>,
): Promise<Record<string, string>> {
  const may = 'find,insert,structure,files:read,files:write,backup';
  const made = await runToEnd('cli/token.ts', ['--may', may], { DATA_DIR: dataDir });
  return { ...bucket, SLUICE_URL: baseUrl, SLUICE_TOKEN: made.stdout.trim() };
}
