/** Folders: files that keep their names, whose relative links work, and that are replaced, signed, listed and deleted. */
import { randomUUID } from 'node:crypto';
import t from 'tap';
import { runToEnd, sluiceFor } from '../services/start-sluice.ts';

const sluice = await sluiceFor(t, { env: { FILE_LINKS: 'private' } });
const files = `${sluice.baseUrl}/_f_/media`;
const authorization = `Bearer ${sluice.token}`;

interface Sent {
  readonly method?: string;
  readonly body?: string | Blob | FormData;
  readonly headers?: Record<string, string>;
}

async function ask(path: string, { method = 'GET', body, headers }: Sent = {}) {
  const url = path.startsWith('http') ? path : files + path;
  const init = { method, headers: { authorization, ...headers }, ...(body === undefined ? {} : { body }) };
  const answer = await fetch(url, init as RequestInit);
  const text = await answer.text();
  const json = () => JSON.parse(text);
  return { status: answer.status, text, json, header: (name: string) => answer.headers.get(name) };
}
const put = (path: string, body: string, headers: Record<string, string> = {}) =>
  ask(path, { method: 'PUT', body: new Blob([body]), headers });
const codeOf = ({ status, json }: Awaited<ReturnType<typeof ask>>) => [status, json().code];
async function newFolder(path = 'index.m3u8', body = '#EXTM3U'): Promise<string> {
  return (await put(`/new/${path}`, body)).json().folder;
}

t.test('the first file makes a folder, and later ones keep their names', async (t) => {
  const first = (await put('/new/720p/seg%201.ts', 'one')).json();
  t.match(first, { path: '720p/seg 1.ts', originalName: 'seg 1.ts', contentType: 'video/mp2t', size: 3 });
  t.equal(first.s3Link, `${files}/${first.folder}/720p/seg%201.ts`);
  t.match(first.folder, /^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  t.match((await put(`/${first.folder}/index.m3u8`, '#EXTM3U')).json(), { folder: first.folder });
  const got = await ask(first.s3Link);
  t.strictSame([got.status, got.text, got.header('cache-control')], [200, 'one', 'private, no-cache']);
  const head = await ask(first.s3Link, { method: 'HEAD' });
  t.strictSame([head.status, head.header('content-length')], [200, '3']);
  t.equal((await ask(first.s3Link, { headers: { range: 'bytes=1-' } })).text, 'ne');
  t.equal((await ask(first.s3Link, { headers: { 'if-none-match': got.header('etag') ?? '' } })).status, 304);
  t.equal((await ask(`/${first.name}`)).text, 'one', 'by its name, too');
  t.equal((await fetch(first.s3Link)).status, 401);
  const { files: listed, count } = (await ask(`?folder=${first.folder}&count=true`)).json();
  t.strictSame(
    [listed.map(({ path }: { path: string }) => path), count],
    [['index.m3u8', '720p/seg 1.ts'], 2],
  );
  t.equal((await ask(first.s3Link, { method: 'DELETE' })).status, 204);
  t.equal((await ask(first.s3Link)).status, 404);
  t.equal((await ask(`/${first.folder}/index.m3u8`)).status, 200);
});

t.test('a second file of a path is refused, or replaces the first', async (t) => {
  const folder = await newFolder();
  const path = `/${folder}/index.m3u8`;
  t.strictSame(codeOf(await put(path, 'two')), [409, 'file_exists']);
  t.strictSame(codeOf(await put(path, 'two', { 'if-none-match': '*' })), [412, 'precondition_failed']);
  t.strictSame(codeOf(await put(path, 'two', { 'if-match': '"no"' })), [412, 'precondition_failed']);
  t.strictSame(codeOf(await put(`/${folder}/b`, 'x', { 'if-match': '*' })), [412, 'precondition_failed']);
  const before = await ask(path);
  const second = await put(path, 'two', { 'if-match': before.header('etag') ?? '' });
  t.equal(second.status, 200);
  t.strictSame(codeOf(await put(path, 'lost', { 'if-match': before.header('etag') ?? '' })), [
    412,
    'precondition_failed',
  ]);
  t.equal((await ask(path)).text, 'two');
  for (let at = 0; at < 20; at++) {
    t.equal((await put(path, `${at}`, { 'if-match': '*' })).status, 200);
    t.equal((await ask(path)).text, `${at}`);
  }
  const { files: listed } = (await ask(`?folder=${folder}`)).json();
  t.equal(listed.length, 1);
});

t.test('of two first files of a path one is stored', async (t) => {
  const folder = await newFolder();
  const answers = await Promise.all(Array.from({ length: 8 }, (_, at) => put(`/${folder}/a`, `${at}`)));
  t.strictSame(answers.map(({ status }) => status).sort(), [200, ...Array(7).fill(409)]);
  const won = answers.findIndex(({ status }) => status === 200);
  t.equal((await ask(`/${folder}/a`)).text, `${won}`);
});

t.test('readers of a path that is replaced get the old file or the new one', async (t) => {
  const folder = await newFolder('live.m3u8', '0');
  const path = `/${folder}/live.m3u8`;
  let isOver = false;
  const read = async () => {
    for (let last = 0; !isOver; ) {
      const { status, text } = await ask(path);
      if (status !== 200 || Number(text) < last) return `${status} ${text} after ${last}`;
      last = Number(text);
    }
    return null;
  };
  const readers = [read(), read(), read()];
  for (let at = 1; at <= 50; at++) await put(path, `${at}`, { 'if-match': '*' });
  isOver = true;
  t.strictSame(await Promise.all(readers), [null, null, null]);
});

t.test('forms, tus and direct uploads go into folders', async (t) => {
  const form = new FormData();
  form.append('folder', 'new');
  form.append('path', 'a/b.txt');
  form.append('file', new Blob(['form']), 'b.txt');
  const first = (await ask('/upload', { method: 'POST', body: form })).json();
  t.match(first, { path: 'a/b.txt', originalName: 'b.txt' });
  const { folder } = first;
  const again = new FormData();
  again.append('file', new Blob(['form']), 'dir/b.txt');
  const byQuery = await ask(`/upload?folder=${folder}`, { method: 'POST', body: again });
  t.match(byQuery.json(), { folder, path: 'b.txt' });

  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const tus = (path: string) =>
    ask('/resumable', {
      method: 'POST',
      body: 'tus!',
      headers: {
        'tus-resumable': '1.0.0',
        'upload-length': '4',
        'content-type': 'application/offset+octet-stream',
        'upload-metadata': `filename ${base64('c.txt')},folder ${base64(folder)},path ${base64(path)}`,
      },
    });
  t.equal((await tus('t/c.txt')).status, 201);
  t.equal((await ask(`/${folder}/t/c.txt`)).text, 'tus!');
  t.equal((await tus('t/c.txt')).status, 409);

  const plan = (path: string) =>
    ask('/direct', {
      method: 'POST',
      body: JSON.stringify({ name: 'd.txt', size: 3, folder, path }),
      headers: { 'content-type': 'application/json' },
    });
  const planned = (await plan('d/d.txt')).json();
  const [part] = planned.parts;
  t.equal((await put(`/${folder}/d/d.txt`, 'quicker')).status, 200);
  await fetch(part.url, { method: part.method, headers: part.headers, body: 'abc' });
  const complete = () => ask(`${sluice.baseUrl}${planned.location}/complete`, { method: 'POST' });
  t.strictSame(codeOf(await complete()), [409, 'file_exists']);
  t.equal((await ask(`/${folder}/d/d.txt`, { method: 'DELETE' })).status, 204);
  t.match((await complete()).json(), { folder, path: 'd/d.txt', size: 3 });
  t.equal((await ask(`/${folder}/d/d.txt`)).text, 'abc');
  t.strictSame(codeOf(await plan('d/d.txt')), [409, 'file_exists']);
});

t.test('a signed folder opens every file below it, also one that is added later', async (t) => {
  const folder = await newFolder('index.m3u8', 'v/seg.ts');
  const sign = (expiresIn: unknown, id = folder) =>
    ask(`/${id}/link`, {
      method: 'POST',
      body: JSON.stringify({ expiresIn }),
      headers: { 'content-type': 'application/json' },
    });
  const { link, expiresAt } = (await sign(60)).json();
  t.match(link, new RegExp(`^${files}/${folder}/~[0-9]+-[^/]+/$`));
  t.ok(Date.parse(expiresAt) > Date.now());
  const get = (address: string, init: RequestInit = {}) => fetch(address, init);
  const playlist = await get(`${link}index.m3u8`, { headers: { origin: 'https://player.example' } });
  t.strictSame([playlist.status, playlist.headers.get('cache-control')], [200, 'private, no-cache']);
  await put(`/${folder}/v/seg.ts`, 'later');
  const segment = new URL(await playlist.text(), playlist.url).href;
  t.equal(await (await get(segment)).text(), 'later');
  t.equal((await get(segment, { method: 'HEAD' })).status, 200);
  t.equal((await get(segment, { headers: { range: 'bytes=0-1' } })).status, 206);
  t.equal((await get(`${link}none`)).status, 404);
  const other = await newFolder();
  for (const bad of [
    link.replace(folder, other),
    link.replace('/media/', '/other/'),
    link.replace(/~(\d)/, '~9$1'),
    link.replace(/.\/$/, (end: string) => (end === 'A/' ? 'B/' : 'A/')),
    link.replace(/~[^/]+/, '~'),
    link.replace(/~[^/]+/, '~1-x'),
  ])
    t.equal((await get(`${bad}index.m3u8`)).status, 403, bad);
  t.equal((await get(`${link}index.m3u8`, { method: 'PUT', body: 'x' })).status, 401);
  t.strictSame(codeOf(await sign(0)), [400, 'invalid_body']);
  t.strictSame(codeOf(await sign(60, other.replace(/.{12}$/, '000000000000'))), [404, 'not_found']);
  const one = (await ask(`?folder=${folder}&name=seg`)).json().files[0];
  const single = (await sign(60, one.name)).json().link;
  t.equal(await (await get(single)).text(), 'later', 'the link of one file');
  t.equal((await get(single.replace('v/seg.ts', 'index.m3u8'))).status, 403);
  t.equal((await get(single.replace('v/seg.ts', 'none'))).status, 403);
});

t.test('names that can be no path', async (t) => {
  const folder = await newFolder();
  for (const path of [
    'a%2Fb',
    'a%5Cb',
    'a//b',
    'a/',
    '%00',
    'a%0Ab',
    '~a',
    '%2e%2e%2fb',
    `${'x/'.repeat(20)}y`,
    'é'.repeat(200),
    '%zz',
    '%ff',
  ])
    t.match(await put(`/${folder}/${path}`, 'x'), { status: 400 }, path);
  t.equal((await put(`/${folder}/link`, 'x')).status, 405);
  for (const path of ['..', '.', 'a/../b', '', 'a\\b', 'a\nb', '/a', 'link', 'restore']) {
    const query = new URLSearchParams({ folder, path });
    t.strictSame(codeOf(await put(`/a.txt?${query}`, 'x')), [400, 'invalid_options'], path);
  }
  for (const path of ['a.', ' a ', 'ö', '%25', '%2B+&', '...', '-', 'a/link', '100%25.txt', '🙂/x']) {
    t.equal((await put(`/${folder}/${path}`, path)).status, 200, path);
    t.equal((await ask(`/${folder}/${path}`)).text, path);
  }
});

t.test('folders that are unknown, or belong to others', async (t) => {
  const folder = await newFolder();
  const unknown = folder.replace(/.{12}$/, '000000000000');
  for (const id of [unknown, 'upload', 'nothing', `${folder}x`, folder.toUpperCase()])
    t.equal((await put(`/${id}/a`, 'x')).status, 404, id);
  t.strictSame(codeOf(await put(`/a?folder=${unknown}`, 'x')), [404, 'not_found']);
  t.strictSame(codeOf(await put('/a?folder=nonsense', 'x')), [400, 'invalid_options']);
  t.strictSame(codeOf(await put('/a?path=b', 'x')), [400, 'invalid_options']);
  t.equal((await ask(`${sluice.baseUrl}/_f_/other/${folder}/a`, { method: 'PUT', body: 'x' })).status, 404);
  t.equal((await ask(`${sluice.baseUrl}/_f_/other/${folder}/index.m3u8`)).status, 404);
  t.equal((await ask(`/${unknown}/`, { method: 'DELETE' })).status, 404);
  t.equal((await ask('/new/a')).status, 404);
  t.equal((await ask(`/new/a`, { method: 'DELETE' })).status, 404);
  // the address of a file in a folder does not say whose it is
  const copy = `/_f_/other/${randomUUID()}_b.ts?originalName=b.ts&createdAt=2026-01-02T03:04:05.678Z`;
  const into = `${sluice.baseUrl}${copy}&folder=${folder}&path=b.ts`;
  const may = ['--may', 'files:read,files:write,backup'];
  const backup = (await runToEnd('cli/token.ts', may, { DATA_DIR: sluice.dataDir })).stdout.trim();
  const headers = { authorization: `Bearer ${backup}` };
  t.strictSame(codeOf(await ask(into, { method: 'PUT', body: 'x', headers })), [409, 'upload_conflict']);
  t.equal((await ask(`/${folder}/b.ts`)).status, 404);
  const failed = await put('/new/a', 'x', { 'content-md5': Buffer.alloc(16).toString('base64') });
  t.equal(failed.status, 400);
});

t.test('an upload that is repeated with its key goes to the same folder', async (t) => {
  const key = { 'idempotency-key': 'folder-1' };
  const first = (await put('/new/a.txt', 'x', key)).json();
  const again = await put('/new/a.txt', 'x', key);
  t.strictSame([again.status, again.json().folder], [200, first.folder]);
  t.equal((await put('/new/b.txt', 'x', key)).status, 422);
  const inIt = { 'idempotency-key': 'folder-2' };
  const path = `/${first.folder}/b.txt`;
  t.equal((await put(path, 'x', inIt)).json()._id, (await put(path, 'x', inIt)).json()._id);
});

t.test('a folder is deleted with its files', async (t) => {
  const folder = await newFolder();
  for (let at = 0; at < 30; at++) await put(`/${folder}/${at}`, `${at}`);
  t.match((await ask(`/${folder}/`, { method: 'DELETE' })).json(), { deleted: 31, failed: [], more: false });
  t.equal((await ask(`/${folder}/1`)).status, 404);
  t.equal((await ask(`?folder=${folder}&count=true`)).json().count, 0);
});
