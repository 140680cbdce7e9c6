/** DIGEST=sha-256: however a file comes, its SHA-256 is kept, shown, and what it is found by. */
import { createHash, randomBytes } from 'node:crypto';
import t from 'tap';
import { fileColumns, fileRowOfLine, tableRows } from '#gateway/catalogue/file-row.ts';
import { FileDigests } from '#gateway/digest/file-digests.ts';
import { rowLine } from '#kernel/ids/row-values.ts';
import { eve, serveFiles } from '../services/serve-files.ts';

const tus = { 'tus-resumable': '1.0.0' };
const chunkType = { ...tus, 'content-type': 'application/offset+octet-stream' };
/** Else the answer to the last bytes has no body. */
const wantsFile = { accept: 'application/json' };
const hex = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const maxUploadBytes = 8_000_000;

type Files = Awaited<ReturnType<typeof serveFiles>>;
type Send = (files: Files, bytes: Buffer<ArrayBuffer>) => Promise<Response>;

async function begin({ ask }: Files, length: number): Promise<string> {
  const headers = { ...tus, 'upload-length': `${length}` };
  const answer = await ask('/_f_/demo/resumable', { method: 'POST', headers });
  return new URL(answer.headers.get('location') as string, 'http://files.test').pathname;
}

const ways: Readonly<Record<string, Send>> = {
  form({ ask }, bytes) {
    const body = new FormData();
    body.set('file', new Blob([bytes]), 'a.bin');
    return ask('/_f_/demo/upload', { method: 'POST', body });
  },
  'a plain body': ({ ask }, body) => ask('/_f_/demo/a.bin', { method: 'PUT', body }),
  async 'tus in one request'(files, body) {
    const path = await begin(files, body.byteLength);
    const headers = { ...chunkType, ...wantsFile, 'upload-offset': '0' };
    return files.ask(path, { method: 'PATCH', headers, body });
  },
  async 'tus in three requests'(files, bytes) {
    const path = await begin(files, bytes.byteLength);
    const third = Math.ceil(bytes.byteLength / 3);
    let answer = new Response();
    for (let at = 0; at < bytes.byteLength; at += third) {
      const headers = { ...chunkType, ...wantsFile, 'upload-offset': `${at}` };
      answer = await files.ask(path, { method: 'PATCH', headers, body: bytes.subarray(at, at + third) });
    }
    return answer;
  },
};

const digests = new FileDigests();
t.teardown(() => digests.close());
const files = await serveFiles(t, { digests, maxUploadBytes });

for (const [way, send] of Object.entries(ways)) {
  t.test(way, async (t) => {
    for (const size of [3, 70_000, 3_500_000]) {
      const bytes = Buffer.from(randomBytes(size));
      const sha256 = hex(bytes);
      const answer = await send(files, bytes);
      t.equal(answer.status, 200);
      const file = (await answer.json()) as { name: string; sha256: string };
      t.equal(file.sha256, sha256);
      const digest = `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`;
      for (const range of ['bytes=0-1', 'none']) {
        const download = await files.ask(`/_f_/demo/${file.name}`, { headers: { range } });
        t.equal(download.headers.get('repr-digest'), digest);
        await download.arrayBuffer();
      }
      const found = await files.ask(`/_f_/demo?sha256=${sha256}`);
      t.strictSame(await found.json(), { files: [file], next: null });
      const has = async (project: string, account?: string) => {
        const whose = account === undefined ? {} : { account };
        return (await files.ask(`/_f_/${project}?sha256=${sha256}`, { method: 'HEAD', ...whose })).status;
      };
      t.strictSame([await has('demo'), await has('other'), await has('demo', eve)], [200, 404, 404]);
      t.equal((await files.ask(`/_f_/demo/${file.name}`, { method: 'DELETE' })).status, 204);
      t.equal(await has('demo'), 404, 'deleted');
    }
  });
}

t.test('what is no SHA-256 is refused, and lists show it', async (t) => {
  await files.upload('a', { content: 'abc' });
  const listed = (await (await files.ask('/_f_/demo')).json()) as { files: { sha256: string }[] };
  t.equal(listed.files[0]?.sha256, hex(Buffer.from('abc')));
  for (const text of ['', 'abc', 'A'.repeat(64)]) {
    t.equal((await files.ask(`/_f_/demo?sha256=${text}`, { method: 'HEAD' })).status, 400);
  }
});

t.test('without DIGEST a file has none', async (t) => {
  const files = await serveFiles(t);
  const file = (await (await files.upload('a', { content: 'abc' })).json()) as { name: string };
  t.notOk('sha256' in file);
  const download = await files.ask(`/_f_/demo/${file.name}`);
  t.equal(download.headers.get('repr-digest'), null);
  await download.arrayBuffer();
});

const numeric: ReadonlySet<string> = new Set(['expires_at', 'trashed_at', 'width', 'height', 'duration']);

t.test('a row that an earlier version left in the write-ahead log has no proof, owner or digest', (t) => {
  const values = fileColumns
    .slice(0, fileColumns.indexOf('sha256'))
    .map((column) => (column === 'size' ? 5 : column));
  for (const known of [values, [...values, 'the digest'], [...values, 'the digest', 'the owner']]) {
    const row = fileRowOfLine(rowLine(known));
    t.equal(row.name, 'name');
    const lacking = fileColumns.slice(known.length).map((column) => (numeric.has(column) ? 0 : ''));
    const { lines } = tableRows([row], true).files;
    t.strictSame(JSON.parse(Buffer.from(lines).toString()), [...known, ...lacking]);
  }
  t.throws(() => fileRowOfLine(rowLine(values.slice(1))));
  t.throws(() => fileRowOfLine(rowLine([...fileColumns, ''])));
  t.end();
});
