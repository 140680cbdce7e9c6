/** What `sluice export` and `sluice import` do when answers are late, cut, or other than the ones before. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t, { type Test } from 'tap';
import { safePart } from '#cli/transfer/export-paths.ts';
import { exportProjects } from '#cli/transfer/export-projects.ts';
import { FolderPlace } from '#cli/transfer/folder-place.ts';
import { Progress } from '#cli/transfer/progress.ts';
import { RemoteServer } from '#cli/transfer/remote-server.ts';
import { StoredExport } from '#cli/transfer/stored-export.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

/** A server with answers for each method and path, of which the last one is repeated. */
async function serve(t: Test, answers: Record<string, Answer[]>) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const what = `${request.method} ${request.url}`;
    const given = answers[what] ?? [refuse(404, {})];
    const answer = given[Math.min(asked.filter((one) => one === what).length, given.length - 1)] as Answer;
    asked.push(what);
    answer(response, request);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const said: string[] = [];
  const stop = new AbortController();
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const remote = new RemoteServer({ url, token: 'T', signal: stop.signal, warn: (text) => said.push(text) });
  return { remote, asked, said, stop };
}

const json =
  (value: unknown): Answer =>
  (response) =>
    response.end(JSON.stringify(value));
const refuse =
  (status: number, headers: Record<string, string>, text = '{"code":"some_error","message":"why"}'): Answer =>
  (response) =>
    response.writeHead(status, headers).end(text);
const cut: Answer = (response) => {
  response.write('{"half":');
  setTimeout(() => response.destroy(), 10);
};
const drop: Answer = (response) => void response.destroy();

t.test('a call is sent again when its answer may be another one', async (t) => {
  const { remote, asked, said } = await serve(t, {
    'GET /a': [drop, cut, refuse(503, {}), json({ good: true })],
  });
  t.strictSame(await remote.json('/a'), { good: true });
  t.equal(asked.length, 4);
  t.match(said, [
    /GET \/a: other side closed/,
    /GET \/a: other side closed/,
    /GET \/a: 503 why; attempt 4 follows in 1\.\d s/,
  ]);
});

const inUse = '{"code":"idempotency_key_in_use","message":"why"}';

t.test('it waits as long as the server asks for', async (t) => {
  const { remote, said } = await serve(t, {
    'GET /a': [refuse(429, { 'retry-after': '1' }), refuse(409, { 'retry-after': '1' }, inUse), json(1)],
  });
  const begun = performance.now();
  t.equal(await remote.json('/a'), 1);
  t.ok(performance.now() - begun > 1900);
  t.match(said, [/429 why; attempt 2 follows in 1\.\d s/, /409 why/]);
});

t.test('an error is not asked for twice', async (t) => {
  const { remote, asked } = await serve(t, {
    'GET /a': [refuse(400, {})],
    'GET /b': [refuse(409, {}, '<h1>a proxy</h1>')],
  });
  await t.rejects(remote.json('/a'), { message: 'GET /a: 400 why', status: 400 });
  await t.rejects(remote.json('/b'), {
    message: /^GET \/b: 409 Something that is not Sluice answered/,
  });
  t.equal(await remote.find('/c'), null);
  t.equal(asked.length, 3);
});

t.test('what fails here, and an address elsewhere, is not asked for twice', async (t) => {
  const { remote, asked } = await serve(t, {
    'GET /a': [json(1)],
    'GET /b': [refuse(302, { location: '/a' }, '')],
  });
  const full = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
  await t.rejects(
    remote.call('/a', {}, () => Promise.reject(full)),
    full,
  );
  await t.rejects(remote.json('/b'), { message: /^GET \/b: 302 / });
  t.strictSame(asked, ['GET /a', 'GET /b']);
});

t.test('a body is made anew for each attempt, and an early answer is heard', async (t) => {
  const bodies: string[] = [];
  const read: Answer = async (response, request) => {
    bodies.push(
      createHash('sha256')
        .update(Buffer.concat(await request.toArray()))
        .digest('hex'),
    );
    response.end('2');
  };
  const { remote } = await serve(t, {
    'PUT /a': [drop, read],
    'PUT /b': [refuse(413, { connection: 'close' })],
  });
  const bytes = Buffer.alloc(5_000_000, 'x');
  const call = { method: 'PUT', bytes: { size: bytes.length, read: () => Readable.from([bytes]) } };
  t.equal(await remote.json('/a', call), 2);
  t.strictSame(bodies, [createHash('sha256').update(bytes).digest('hex')]);
  await t.rejects(remote.json('/b', call), { message: 'PUT /b: 413 why' });
});

t.test('what was sent of a body is not held', async (t) => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const [pieces, piece] = [100, 1_000_000];
  let held = Number.POSITIVE_INFINITY;
  const { remote } = await serve(t, {
    'PUT /a': [
      async (response, request) => {
        await finished(request.resume());
        collect();
        held = process.memoryUsage().arrayBuffers;
        response.end('1');
      },
    ],
  });
  const read = (): Readable =>
    Readable.from(Array.from({ length: pieces }).keys()).map(() => Buffer.alloc(piece, 'x'));
  collect();
  const before = process.memoryUsage().arrayBuffers;
  await remote.json('/a', { method: 'PUT', bytes: { size: pieces * piece, read } });
  t.ok(held - before < (pieces * piece) / 2, `${held - before} bytes`);
});

t.test('silence ends a call, and a signal ends every wait', async (t) => {
  const { remote, said, stop } = await serve(t, {
    'GET /a': [() => {}, (response) => void response.write('1'), json(3)],
    'GET /b': [refuse(503, { 'retry-after': '60' })],
  });
  t.equal(await remote.json('/a', { silence: 100 }), 3);
  t.match(said, [/no byte arrived for 0.1 s/, /no byte arrived for 0.1 s/]);
  const waiting = remote.json('/b');
  setTimeout(() => stop.abort(new Error('stopped')), 100);
  await t.rejects(waiting, { message: 'stopped' });
});

const parquet =
  (text: string): Answer =>
  (response) =>
    response.end(text);
const space = (name: string): Answer =>
  json({ structure: { name }, records: 1, createdAt: '2026-01-01T00:00:00.000Z' });

t.test('an export has whole files alone', async (t) => {
  const root = join(await temporaryFolder(t), 'export');
  const file = (name: string) => ({ name, originalName: name, contentType: 'a/b', size: 4, createdAt: '' });
  const { remote, asked } = await serve(t, {
    'GET /_projects_?limit=100': [json({ projects: [{ slug: 'p' }], next: 'p' })],
    'GET /_projects_?limit=100&after=p': [json({ projects: [], next: null })],
    'GET /_projects_/p/spaces?limit=100': [json({ spaces: [{ slug: 'S' }], next: null })],
    'GET /_projects_/p/spaces/S': [space('old'), space('new')],
    'GET /_projects_/p/spaces/S/rules': [json({ rules: null })],
    'GET /p/S/_export_.parquet?$hashes=true': [
      ...[parquet('PAR1 no end'), parquet('PAR1 old PAR1'), parquet('PAR1 new PAR1')],
    ],
    'GET /_f_/p?sort=createdAt&order=asc&limit=100': [
      json({ files: [file('..'), file('gone')], next: null }),
    ],
    'GET /_f_/p/..': [cut, parquet('data')],
  });
  const deps = { server: remote, progress: new Progress() };
  const begin = () => StoredExport.begin(new FolderPlace(root), remote.url, { again: false });
  const stored = await begin();
  const projects = await exportProjects({ ...deps, stored }, []);
  t.strictSame(projects, [{ slug: 'p', spaces: ['S'], files: 1 }]);
  t.strictSame((await readdir(root, { recursive: true })).sort(), [
    ...['done.ndjson', 'p', 'p/files', 'p/files.ndjson', 'p/files/%2e.', 'p/spaces', 'p/spaces/%53'],
    ...['p/spaces/%53/records.parquet', 'p/spaces/%53/structure.json'],
  ]);
  t.equal(await readFile(join(root, 'p/spaces/%53/records.parquet'), 'utf8'), 'PAR1 new PAR1');
  t.match(await readFile(join(root, 'p/spaces/%53/structure.json'), 'utf8'), /"new"/);

  // a line that was cut, and an item that lost its end
  const journal = join(root, 'done.ndjson');
  await writeFile(journal, (await readFile(journal, 'utf8')).slice(0, -20));
  await writeFile(join(root, 'p/files/%2e.'), 'dat');
  const before = asked.length;
  await exportProjects({ ...deps, stored: await begin() }, []);
  const since = asked.slice(before);
  t.ok(since.includes('GET /_f_/p/..'));
  t.notOk(since.some((what) => what.includes('_export_')));
  t.equal(await readFile(join(root, 'p/files/%2e.'), 'utf8'), 'data');
  await t.rejects(StoredExport.begin(new FolderPlace(root), 'http://other', { again: false }), {
    message: /of http:\/\/127/,
  });
  await t.rejects(StoredExport.begin(new FolderPlace(join(root, 'p')), remote.url, { again: true }), {
    message: /neither empty/,
  });
});

t.test(
  'a journal that names something outside of its folder is refused, and nothing is touched',
  async (t) => {
    const outer = await temporaryFolder(t);
    const [root, journal] = [join(outer, 'export'), join(outer, 'export/done.ndjson')];
    await mkdir(join(outer, 'x'));
    await writeFile(join(outer, 'x/precious'), 'data');
    const begin = (again: boolean) => StoredExport.begin(new FolderPlace(root), 'http://a', { again });
    await begin(false);
    const [start] = (await readFile(journal, 'utf8')).split('\n');
    const good = JSON.stringify({ path: 'p/files/a', bytes: 4, sha256: '' });
    await mkdir(join(root, 'p/files'), { recursive: true });
    await writeFile(join(root, 'p/files/a'), 'data');
    await writeFile(join(root, 'sluice-export.json'), '{"format":1}');
    const bad = [
      '../x',
      '../x/precious',
      '..',
      '.',
      '',
      '/',
      '/x',
      'p/../../x',
      'p//a',
      'p',
      '..\\x',
      'p/\0',
      7,
    ];
    for (const path of [...bad, undefined]) {
      const text = `${start}\n${good}\n${JSON.stringify({ path, bytes: 4, sha256: '' })}\n`;
      await writeFile(journal, text);
      const refused = { message: new RegExp(`^${journal}, line 3: .* is not the path of an item`) };
      for (const again of [true, false]) await t.rejects(begin(again), refused, `${path}`);
      await t.rejects(StoredExport.openWhole(new FolderPlace(root)), refused);
      t.equal(await readFile(journal, 'utf8'), text);
    }
    t.equal(await readFile(join(outer, 'x/precious'), 'utf8'), 'data');
    t.strictSame((await readdir(root, { recursive: true })).sort(), [
      ...['done.ndjson', 'p', 'p/files', 'p/files/a', 'sluice-export.json'],
    ]);
  },
);

t.test('names are safe, and differ where letter case does not count', async (t) => {
  const names = [
    'users',
    'Users',
    'uSers',
    '.',
    '..',
    '../a',
    'a/b',
    'a\\b',
    '~',
    '*',
    'ä',
    'Ä',
    '%55sers',
    '',
  ];
  names.push('x'.repeat(400), 'ö'.repeat(400), `${'x'.repeat(399)}y`);
  const parts = names.map(safePart);
  t.equal(new Set(parts.map((part) => part.toLowerCase())).size, names.length);
  for (const part of parts) t.match(part, /^(?!\.)[a-z0-9%_.~-]{0,200}$/);
});
