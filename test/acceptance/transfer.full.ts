/** Projects that `sluice export` and `sluice import` move between running servers, while both are killed. */
import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { call, fieldsOf, structureOf } from '../services/record-client.ts';
import { startClickhouse } from '../services/start-clickhouse.ts';
import { runScript, runToEnd, type Sluice, sluiceFor } from '../services/start-sluice.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';
import { sized } from '../services/test-size.ts';
import { watchChild } from '../services/watch-child.ts';

const userFields = [
  ...fieldsOf('email TEXT unique required, password TEXT hashed, level NUMBER, active BOOLEAN'),
  ...fieldsOf('tags ARRAY, home OBJECT'),
  { name: 'Full Name', slug: 'full-name', type: 'TEXT', defaultValue: 'nobody' },
];
const users = structureOf('shop', 'users', userFields);
/** With a field of which the records of before have no value. */
const laterUsers = structureOf('shop', 'users', [
  ...userFields,
  { name: 'city', type: 'TEXT', defaultValue: 'Rome' },
]);
const notes = structureOf('shop', 'Notes & more', fieldsOf('text TEXT, number NUMBER'), {
  webhooks: { onInsertUrl: 'http://127.0.0.1:9/hook', onUpdateUrl: null },
});
const empty = structureOf('shop', 'empty', fieldsOf('text TEXT unique'));
const open = structureOf('shop', 'guarded', fieldsOf('text TEXT'));
const guarded = structureOf('shop', 'guarded', fieldsOf('text TEXT'), {
  authOptions: { active: true, space: 'users', scope: ['find', 'insert'] },
});
const albums = structureOf('media', 'albums', fieldsOf('cover TEXT'));
const rules = { find: { level: { gte: 1 } }, update: { id: '$user.id' }, hidden: ['home'] };
const fileRules = { read: { owner: '$user.id' }, maxBytes: 5 };
const noteCount = sized(40_000, 15_000);

const oddNames = [
  ...[
    '..',
    '.',
    '.hidden',
    'upload',
    'resumable',
    '_delete_',
    'CON',
    'a/b/c.txt',
    '../../x',
    '%2e%2e',
    'a%b',
  ],
  ...[
    'Größe 1.PNG',
    'größe 1.png',
    '日本語.txt',
    '🙂',
    'a?b#c&d=e',
    "it's",
    'a "quote"',
    'a\nb',
    ' space ',
    'x'.repeat(1000),
  ],
];

interface Filled {
  readonly ada: object;
  readonly eve: { readonly updatedAt: string };
  readonly files: readonly ListedFile[];
}

interface ListedFile {
  readonly name: string;
  readonly originalName: string;
  readonly createdAt: string;
}

async function upload({ baseUrl, token }: Sluice, name: string, bytes: Uint8Array): Promise<ListedFile> {
  // not as a form, which knows no name with a `%22`
  const answer = await fetch(`${baseUrl}/_f_/media/resumable`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'tus-resumable': '1.0.0',
      'upload-length': String(bytes.length),
      'upload-metadata': `filename ${Buffer.from(name).toString('base64')}`,
      'content-type': 'application/offset+octet-stream',
    },
    body: Buffer.from(bytes),
  });
  if (answer.status !== 201) throw new Error(`${name}: ${answer.status} ${await answer.text()}`);
  return { name: '', originalName: name, createdAt: '' };
}

const ownedName = '0197a5c8-7c1e-4d3a-9b52-0c9f6e1d2a34_owned.txt';
const withBackup = (sluice: Sluice) => ({ authorization: `Bearer ${backupTokens.get(sluice)}` });

/** A file of a user, and rules for it. */
async function uploadOwned(sluice: Sluice): Promise<void> {
  const kept = 'originalName=owned.txt&createdAt=2026-01-02T03:04:05.678Z&owner=user-1';
  const stored = await fetch(`${sluice.baseUrl}/_f_/media/${ownedName}?${kept}`, {
    method: 'PUT',
    body: 'owned',
    headers: withBackup(sluice),
  });
  t.equal(stored.status, 200, await stored.text());
  const ruled = await fetch(`${sluice.baseUrl}/_projects_/media/files/rules`, {
    method: 'PUT',
    body: JSON.stringify(fileRules),
    headers: { ...withBackup(sluice), 'content-type': 'application/json' },
  });
  t.equal(ruled.status, 200, await ruled.text());
}

const filesOf = async ({ baseUrl, token }: Sluice) =>
  (await call({ baseUrl, token, path: '/_f_/media?limit=100' })).body.files as ListedFile[];

function patterned(size: number, seed: number): Buffer {
  const bytes = Buffer.alloc(size);
  for (let at = 0; at < size; at++) bytes[at] = (at * seed + (at >> 8)) & 255;
  return bytes;
}

async function fill(t: Test, sluice: Sluice): Promise<Filled> {
  const { baseUrl, token } = sluice;
  const at = { baseUrl, token };
  const made = await call({
    ...at,
    path: '/shop/users',
    structure: users,
    body: [
      {
        email: 'ada@x',
        password: 'correct horse',
        level: 1,
        active: true,
        tags: ['a', { b: 1 }],
        home: { c: [1.5] },
      },
      { email: 'eve@x', level: -0.1, active: false, tags: [], home: {}, 'Full Name': '' },
      { email: 'bob\u0000"\\\n🙂' },
    ],
  });
  t.equal(made.status, 200, JSON.stringify(made.body));
  const updated = await call({
    ...at,
    path: '/shop/users/update?email=eve@x',
    structure: users,
    body: { level: 20 },
  });
  t.not(updated.body.updatedAt, updated.body.createdAt);
  const texts = await call({ ...at, path: '/shop/guarded', structure: open, body: [{ text: 'secret' }] });
  t.equal(texts.status, 200);
  const ruled = await fetch(`${baseUrl}/_projects_/shop/spaces/users/rules`, {
    method: 'PUT',
    body: JSON.stringify(rules),
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
  });
  t.equal(ruled.status, 200, await ruled.text());
  for (const [path, structure] of [
    ['/shop/users', laterUsers],
    ['/shop/empty', empty],
    ['/shop/guarded', guarded],
    ['/shop/Notes%20%26%20more', notes],
    ['/media/albums', albums],
  ] as const)
    t.equal(
      (await call({ ...at, path: `${path}/set-structure`, body: JSON.parse(structure) })).status,
      200,
      path,
    );
  const lines = Array.from({ length: noteCount }, (_, number) =>
    JSON.stringify({ text: `${number}`.repeat(20), number: number % 7 === 0 ? null : number / 3 }),
  );
  const job = await call({
    ...at,
    path: '/shop/Notes%20%26%20more/_import_?format=ndjson',
    body: lines.join('\n'),
  });
  t.equal(job.status, 202, JSON.stringify(job.body));
  for (let state = ''; state !== 'done'; )
    state = (await call({ ...at, path: `/_jobs_/${job.body.id}` })).body.state as string;
  await upload(sluice, 'film.mp4', patterned(6_000_000, 7));
  for (const [index, name] of oddNames.entries())
    await upload(sluice, name, patterned(index * 1000, index + 1));
  for (let index = 0; index < 10; index++) await upload(sluice, 'same.txt', patterned(10, index));
  await uploadOwned(sluice);
  const files = await filesOf(sluice);
  t.equal(files.length, oddNames.length + 12);
  const named = await call({
    ...at,
    path: '/media/albums',
    structure: albums,
    body: [{ cover: files[0]?.name }],
  });
  t.equal(named.status, 200);
  const userBy = async (email: string) =>
    (await call({ ...at, path: `/shop/users/_single_?email=${email}`, structure: laterUsers })).body;
  return { ada: await userBy('ada@x'), eve: await userBy('eve@x'), files };
}

interface Killing {
  readonly script: 'cli/export.ts' | 'cli/import.ts';
  readonly args: readonly string[];
  readonly sluice: Sluice;
}

/** Of each server, a token that may make and take backups. */
const backupTokens = new WeakMap<Sluice, string>();

async function servedFor(t: Test, env: Record<string, string> = {}): Promise<Sluice> {
  const sluice = await sluiceFor(t, { env });
  const may = 'find,insert,structure,files:read,files:write,backup';
  const made = await runToEnd('cli/token.ts', ['--may', may], { DATA_DIR: sluice.dataDir, ...env });
  backupTokens.set(sluice, made.stdout.trim());
  return sluice;
}

const environment = (sluice: Sluice) => ({
  SLUICE_URL: sluice.baseUrl,
  SLUICE_TOKEN: backupTokens.get(sluice) ?? '',
});

const run = ({ script, args, sluice }: Killing) => runToEnd(script, args, environment(sluice));

/** Kills the command when it has written so many lines, or something else is so. */
async function killed(killing: Killing, when: number | (() => Promise<boolean>)): Promise<void> {
  const { script, args, sluice } = killing;
  const child = runScript(script, args, environment(sluice));
  const { output, untilReady } = watchChild(child, script);
  const linesAre = async () => output.stderr.split('\n').length > (when as number);
  await untilReady(typeof when === 'number' ? linesAre : when);
  child.kill('SIGKILL');
  await once(child, 'close');
}

async function exported(t: Test, sluice: Sluice): Promise<string> {
  const folder = join(await temporaryFolder(t), 'the {export}*');
  const killing: Killing = { script: 'cli/export.ts', args: [folder], sluice };
  await killed(killing, async () =>
    (await readdir(folder, { recursive: true })).some((name) => name.endsWith('.part')),
  );
  for (const lines of [1, 4, 9]) await killed(killing, lines);
  t.match(await run({ script: 'cli/import.ts', args: [folder], sluice }), {
    status: 1,
    stderr: /not a complete export/,
  });
  const done = await readFile(join(folder, 'done.ndjson'), 'utf8');
  const { status, stderr } = await run(killing);
  t.equal(status, 0, stderr);
  t.match(stderr, /^media complete; record spaces: 1, files: 33$/m);
  const whole = await readFile(join(folder, 'done.ndjson'), 'utf8');
  t.ok(whole.startsWith(done.slice(0, done.lastIndexOf('\n'))), 'what was whole was not fetched again');
  t.match(await run(killing), { status: 1, stderr: /--again replaces it/ });
  t.strictSame(
    (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.part')),
    [],
  );
  return folder;
}

const jobsOf = async ({ baseUrl, token }: Sluice) =>
  (await call({ baseUrl, token, path: '/_jobs_' })).body.jobs as { space: string; state: string }[];

async function killedImports(folder: string, sluice: Sluice): Promise<void> {
  const killing: Killing = { script: 'cli/import.ts', args: [folder], sluice };
  // files come first, and are not sent again
  for (const lines of [5, 10]) await killed(killing, lines);
  await killed(killing, async () => (await jobsOf(sluice)).length > 0);
  await killed(killing, async () =>
    (await jobsOf(sluice)).some(({ space, state }) => space === 'Notes & more' && state !== 'waiting'),
  );
}

async function imported(t: Test, folder: string, sluice: Sluice): Promise<void> {
  const killing: Killing = { script: 'cli/import.ts', args: [folder], sluice };
  const { status, stderr } = await run(killing);
  t.equal(status, 0, stderr);
  t.equal((await jobsOf(sluice)).length, 5, 'one import for each record space');
  const again = await run(killing);
  t.equal(again.status, 0, again.stderr);
  t.notMatch(again.stderr, /film/, 'a second import sends no file');
  t.equal((await jobsOf(sluice)).length, 5);
  const verified = await run({ ...killing, args: [folder, '--verify'] });
  t.match(verified, { status: 0, stdout: '' }, verified.stdout + verified.stderr);
}

async function check(t: Test, sluice: Sluice, { ada, eve, files }: Filled): Promise<void> {
  const { baseUrl, token } = sluice;
  const at = { baseUrl, token, structure: laterUsers };
  t.strictSame((await call({ ...at, path: '/shop/users/_single_?email=ada@x' })).body, ada);
  t.strictSame((await call({ ...at, path: '/shop/users/_single_?email=eve@x' })).body, eve);
  const twice = await call({ ...at, path: '/shop/users/_single_', body: { email: 'ada@x' } });
  t.match(twice, { status: 400, body: { code: 'not_unique' } });
  const login = await call({
    baseUrl,
    token,
    path: '/shop/function/login',
    headers: { 'function-resources': `{"mustExistSpaceStructures":[${laterUsers}]}` },
    body: { email: 'ada@x', password: 'correct horse' },
  });
  t.equal(login.status, 200, 'the password is good');
  const ruled = await call({ baseUrl, token, path: '/_projects_/shop/spaces/users/rules' });
  t.strictSame(ruled.body.rules, rules);
  const spaces = await call({ baseUrl, token, path: '/_projects_/shop/spaces' });
  t.strictSame(
    (spaces.body.spaces as { slug: string; records: number }[]).map(({ slug, records }) => [slug, records]),
    [
      ['Notes & more', noteCount],
      ['empty', 0],
      ['guarded', 1],
      ['users', 3],
    ],
  );
  const ofFiles = await call({ baseUrl, token, path: '/_projects_/media/files/rules' });
  t.strictSame(ofFiles.body.rules, fileRules);
  const owned = await fetch(`${baseUrl}/_f_/media/${ownedName}`, { headers: withBackup(sluice) });
  t.equal(owned.headers.get('sluice-file-owner'), 'user-1', await owned.text());
  const unprivileged = await fetch(`${baseUrl}/_f_/media/${ownedName}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  t.equal(unprivileged.headers.get('sluice-file-owner'), null, await unprivileged.text());
  const known = ({ name, originalName, createdAt }: ListedFile) => [name, originalName, createdAt];
  t.strictSame((await filesOf(sluice)).map(known), files.map(known));
}

async function differences(t: Test, folder: string, sluice: Sluice): Promise<void> {
  const { baseUrl, token } = sluice;
  const at = { baseUrl, token };
  await call({ ...at, path: '/shop/users/update?email=eve@x', structure: laterUsers, body: { level: 21 } });
  const [file] = (await filesOf(sluice)).filter(({ originalName }) => originalName === 'film.mp4');
  const path = `/_f_/media/${file?.name}`;
  await fetch(baseUrl + path, { method: 'DELETE', headers: { authorization: `Bearer ${token}` } });
  const verify: Killing = { script: 'cli/import.ts', args: [folder, '--verify'], sluice };
  t.match(await run(verify), {
    status: 1,
    stdout: `media/${file?.name}: the server has no such file\nshop/users: its 3 records have other values\n`,
  });
  const own = join(folder, 'media/files', file?.name as string);
  const bytes = await readFile(own);
  bytes[3_000_000] = (bytes[3_000_000] as number) ^ 1;
  await writeFile(own, bytes);
  const moving: Killing = { script: 'cli/import.ts', args: [folder, '--project', 'media'], sluice };
  t.match(await run(moving), { status: 1, stderr: /film\.mp4 is damaged: its SHA-256/ });
  t.match((await run(verify)).stdout, /film\.mp4 is damaged/);
  bytes[3_000_000] = (bytes[3_000_000] as number) ^ 1;
  await writeFile(own, bytes);
  const { status, stderr } = await run(moving);
  t.equal(status, 0, stderr);
  t.equal((await fetch(baseUrl + path)).status, 200, 'a file that was deleted is there again');
  t.match(await run(verify), { status: 1, stdout: /^shop\/users: [^\n]*\n$/ });
}

t.test('what one server exports', async (t) => {
  const source = await servedFor(t);
  const filled = await fill(t, source);
  const folder = await exported(t, source);

  await t.test('between embedded servers', async (t) => {
    const target = await servedFor(t, { DIGEST: 'sha-256' });
    await killedImports(folder, target);
    await imported(t, folder, target);
    await check(t, target, filled);
    await differences(t, folder, target);
    const other = await servedFor(t);
    const { baseUrl, token } = other;
    await call({ baseUrl, token, path: '/shop/users', structure: users, body: [{ email: 'mine@x' }] });
    t.match(await run({ script: 'cli/import.ts', args: [folder], sluice: other }), {
      status: 1,
      stderr: /shop\/users has 1 records that are not from this export/,
    });
    t.equal(
      (await call({ baseUrl, token, path: '/_projects_/shop/spaces' })).body.spaces.length,
      1,
      'nothing was made',
    );
  });

  await t.test('from an embedded server to one over ClickHouse, and back', async (t) => {
    const engine = await startClickhouse();
    t.teardown(() => engine.close());
    const target = await servedFor(t, { CLICKHOUSE_URL: engine.url });
    await imported(t, folder, target);
    await check(t, target, filled);
    const second = join(await temporaryFolder(t), 'second');
    t.equal((await run({ script: 'cli/export.ts', args: [second], sluice: target })).status, 0);
    t.match(await run({ script: 'cli/import.ts', args: [second, '--verify'], sluice: source }), {
      status: 0,
      stdout: '',
    });
  });
});
