import { existsSync } from 'node:fs';
import { mkdir, open, readdir, readFile, readlink, rm, utimes, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import t, { type Test } from 'tap';
import { createFileSystemStore } from '#objects/file-system/file-system-store.ts';
import { notedSyncs } from '../services/file-handles.ts';
import { emptyPart, partOf } from '../services/store-object.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';
import { untilEmpty } from '../services/until-empty.ts';
import { collect, objectStoreContract, patternBytes } from './object-store-contract.ts';

const plain = { contentType: 'text/plain', metadata: { a: 'b' } };
const never = new AbortController().signal;

async function newRoot(t: Test): Promise<string> {
  const folder = await temporaryFolder(t);
  return join(folder, 'deeper', 'files');
}

/** Every plain file below a folder, as relative paths. */
async function filesBelow(folder: string): Promise<string[]> {
  if (!existsSync(folder)) return [];
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}

/** Files below a folder that this process holds open. */
async function openFilesBelow(folder: string): Promise<string[]> {
  const targets = await Promise.all(
    (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')),
  );
  return targets.filter((target) => target.startsWith(folder));
}

t.test('contract', async (t) => {
  const root = await newRoot(t);
  await objectStoreContract(t, () => createFileSystemStore({ root }));
  if (process.platform === 'linux')
    t.strictSame(await untilEmpty(() => openFilesBelow(root)), [], 'no file is left open');
  t.strictSame(await filesBelow(join(root, 'tmp')), [], 'no temporary file is left');
});

t.test('objects, descriptions and temporary files have their folders', async (t) => {
  const root = await newRoot(t);
  const store = await createFileSystemStore({ root });
  const writer = await store.create('o/p/n.txt', plain, never);
  await writer.writePart(partOf(Buffer.from('text')));
  const before = await filesBelow(root);
  t.equal(before.length, 1, 'one temporary file and nothing else before complete');
  t.match(before[0], /^tmp\//);
  await writer.complete(emptyPart);
  t.strictSame(await filesBelow(root), ['meta/o/p/n.txt.json', 'objects/o/p/n.txt']);
});

t.test('an object without a type and metadata has no description, and loses one that it had', async (t) => {
  const root = await newRoot(t);
  const store = await createFileSystemStore({ root });
  const nothing = { contentType: 'application/octet-stream', metadata: {} };
  for (const description of [plain, nothing]) {
    const writer = await store.create('o/p/n.txt', description, never);
    await writer.complete(partOf(Buffer.from('text')));
    t.match(await store.head('o/p/n.txt', never), { size: 4, ...description });
  }
  t.strictSame(await filesBelow(root), ['objects/o/p/n.txt']);
});

const linuxOnly =
  process.platform === 'linux' ? {} : { skip: 'the path of what is synced is read from /proc' };

t.test('a complete object is on the disk: bytes before its name, then the name', linuxOnly, async (t) => {
  const root = await newRoot(t);
  const there = () => ['meta/o/n.json', 'objects/o/n'].filter((name) => existsSync(join(root, name)));
  const synced = await notedSyncs(t, (path) => {
    // what a file is called at this moment: before its rename, the name of a temporary one
    const name = relative(root, path).replace(/^tmp\/.*/, 'temporary file');
    return [name, ...there()].join(' beside ');
  });
  const store = await createFileSystemStore({ root });
  t.strictSame(synced.splice(0), ['../..', '..', '', '', ''], 'the names of new folders');
  const writer = await store.create('o/n', plain, never);
  await writer.writePart(partOf(Buffer.from('text')));
  await writer.complete(emptyPart);
  t.strictSame(synced.splice(0, 3), ['', 'meta', 'objects']);
  t.strictSame(synced.splice(0).sort(), [
    'meta/o beside meta/o/n.json',
    'objects/o beside meta/o/n.json beside objects/o/n',
    'temporary file',
    'temporary file',
  ]);
  await store.delete('o/n', never);
  t.strictSame(synced, ['objects/o beside meta/o/n.json', 'meta/o'], 'it does not come back');
});

t.test('another store on the same root finds the object with its description', async (t) => {
  const root = await newRoot(t);
  const writer = await (await createFileSystemStore({ root })).create('o/p/n', plain, never);
  await writer.writePart(partOf(Buffer.from('text')));
  await writer.complete(emptyPart);
  const again = await createFileSystemStore({ root });
  t.match(await again.head('o/p/n', never), { size: 4, ...plain });
});

t.test('abort leaves no file at all', async (t) => {
  const root = await newRoot(t);
  const store = await createFileSystemStore({ root });
  const writer = await store.create('o/p/n', plain, never);
  const writing = Promise.allSettled([writer.writePart(partOf(patternBytes(store.partBytes(0, 1))))]);
  await writer.abort();
  await writing;
  t.strictSame(await filesBelow(root), []);
});

t.test('delete leaves no file at all', async (t) => {
  const root = await newRoot(t);
  const store = await createFileSystemStore({ root });
  await (await store.create('o/p/n', plain, never)).complete(emptyPart);
  await store.delete('o/p/n', never);
  t.strictSame(await filesBelow(root), []);
});

t.test('a description that lost its object is listed, and removed alone', async (t) => {
  const root = await newRoot(t);
  const store = await createFileSystemStore({ root });
  const described = { contentType: 'image/png', metadata: { name: 'a' } };
  const listed = async (prefix: string) => {
    const found: unknown[] = [];
    for await (const { key, size } of store.list(prefix, never)) found.push([key, size]);
    return found;
  };
  for (const key of ['o/p/gone', 'o/p/there'])
    await (await store.create(key, described, never)).complete(partOf(Buffer.from('text')));
  // as a kill leaves it
  await rm(join(root, 'objects', 'o', 'p', 'gone'));
  t.strictSame(await listed('o/p/'), [
    ['o/p/there', 4],
    ['o/p/gone', 0],
  ]);
  t.strictSame(await listed('o/p/go'), [['o/p/gone', 0]]);
  t.strictSame(await listed('o/p/gone.'), []);
  t.equal(await store.head('o/p/gone', never), null);
  await store.deleteRemains?.('o/p/there', never);
  t.match(await store.head('o/p/there', never), described, 'the object keeps its own');
  await store.deleteRemains?.('o/p/gone', never);
  await store.deleteRemains?.('o/p/never', never);
  t.strictSame(await filesBelow(root), ['meta/o/p/there.json', 'objects/o/p/there']);
  await rm(join(root, 'objects', 'o', 'p', 'there'));
  t.strictSame(await store.deleteAll(['o/p/there'], never), []);
  t.strictSame(await filesBelow(root), []);
});

t.test('a start removes temporary files that nobody has touched for an hour, and no others', async (t) => {
  const root = await newRoot(t);
  await createFileSystemStore({ root });
  const old = join(root, 'tmp', 'old');
  const fresh = join(root, 'tmp', 'fresh');
  await writeFile(old, 'x');
  await writeFile(fresh, 'x');
  const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000);
  await utimes(old, hoursAgo(1.1), hoursAgo(1.1));
  await utimes(fresh, hoursAgo(0.9), hoursAgo(0.9));
  await createFileSystemStore({ root });
  t.strictSame(await filesBelow(root), ['tmp/fresh']);
});

t.test('hostile keys are refused before a file is touched', async (t) => {
  const root = await newRoot(t);
  const store = await createFileSystemStore({ root });
  const hostile = ['', '/etc/passwd', '../x', 'a/../../x', 'a//b', 'a/./b', 'a/', '.', '..', 'a\0b', 'a\\b'];
  for (const key of hostile) {
    const name = JSON.stringify(key);
    await t.rejects(store.create(key, plain, never), { message: /bad object key/ }, `create ${name}`);
    await t.rejects(store.head(key, never), { message: /bad object key/ }, `head ${name}`);
    await t.rejects(store.delete(key, never), { message: /bad object key/ }, `delete ${name}`);
    t.throws(() => store.read(key, null, never), { message: /bad object key/ }, `read ${name}`);
  }
  for (const prefix of ['/', '../', 'a/../', 'a//', './', 'a\0', 'a\\']) {
    t.throws(
      () => store.list(prefix, never),
      { message: /bad object key/ },
      `list ${JSON.stringify(prefix)}`,
    );
  }
  t.strictSame(await filesBelow(root), []);
});

t.test('a complete that fails leaves nothing, and the store recovers', async (t) => {
  const root = await newRoot(t);
  const store = await createFileSystemStore({ root });
  await mkdir(join(root, 'objects', 'o'), { recursive: true });
  // works for root as well, whom permissions don't stop
  await writeFile(join(root, 'objects', 'o', 'p'), 'a file where a folder should be');
  const writer = await store.create('o/p/n', plain, never);
  await writer.writePart(partOf(Buffer.from('text')));
  await t.rejects(writer.complete(emptyPart), { code: 'ENOTDIR' });
  await writer.abort();
  t.strictSame(await filesBelow(root), ['objects/o/p']);
  t.strictSame(await untilEmpty(() => openFilesBelow(root)), []);
  t.equal(await store.head('o/p/n', never), null);

  await rm(join(root, 'objects', 'o', 'p'));
  const second = await store.create('o/p/n', plain, never);
  await second.complete(emptyPart);
  t.match(await store.head('o/p/n', never), { size: 0 });
});

t.test('last bytes that are not written leave no description', async (t) => {
  const root = await newRoot(t);
  const store = await createFileSystemStore({ root });
  for (const [resumes, left] of [
    [false, []],
    [true, [/^unfinished\//]],
  ] as const) {
    const client = new AbortController();
    const writer = resumes
      ? await store.resume('o/p/n', plain, null, client.signal)
      : await store.create('o/p/n', plain, client.signal);
    await writer.writePart(partOf(Buffer.from('text')));
    client.abort(new Error('gone'));
    await t.rejects(writer.complete(partOf(Buffer.from('end'))), { message: 'gone' });
    t.match(await filesBelow(root), left, 'only bytes that may go on');
    t.equal((await filesBelow(root)).length, left.length);
  }
});

t.test('folders that vanish under a running store are made again', async (t) => {
  const root = await newRoot(t);
  const store = await createFileSystemStore({ root });
  await (await store.create('o/p/1', plain, never)).complete(emptyPart);
  await rm(join(root, 'objects', 'o'), { recursive: true });
  const failing = await store.create('o/p/2', plain, never);
  await t.rejects(failing.complete(emptyPart), { code: 'ENOENT' });
  t.notOk(
    (await filesBelow(root)).some((file) => file.includes('2')),
    'nothing of it is left',
  );
  await (await store.create('o/p/3', plain, never)).complete(emptyPart);
  t.match(await store.head('o/p/3', never), { size: 0 });
});

t.test('ready and create reject when the folder for new files is gone', async (t) => {
  const root = await newRoot(t);
  const store = await createFileSystemStore({ root });
  await rm(join(root, 'tmp'), { recursive: true });
  await writeFile(join(root, 'tmp'), 'a file where a folder should be');
  await t.rejects(store.ready(never), { code: 'ENOTDIR' });
  await t.rejects(store.create('o/p/n', plain, never), { code: 'ENOTDIR' });
});

t.test('a start says that its root is a file', async (t) => {
  const root = await newRoot(t);
  await createFileSystemStore({ root });
  await rm(root, { recursive: true });
  await writeFile(root, '');
  await t.rejects(createFileSystemStore({ root }));
});

t.test('a reader that stops early, and one that fails, close their file', async (t) => {
  const root = await newRoot(t);
  const store = await createFileSystemStore({ root });
  const writer = await store.create('o/p/n', plain, never);
  await writer.writePart(partOf(patternBytes(1024 * 1024)));
  await writer.complete(emptyPart);
  for await (const _ of store.read('o/p/n', null, never)) break;
  await t.rejects(collect(store.read('o/p/n', { start: 5, end: 2_000_000 }, never)), RangeError);
  if (process.platform === 'linux') t.strictSame(await untilEmpty(() => openFilesBelow(root)), []);
});

t.test('an object that is cut while it is read is an error, not a short answer', async (t) => {
  const root = await newRoot(t);
  const store = await createFileSystemStore({ root });
  const writer = await store.create('o/p/n', plain, never);
  await writer.writePart(partOf(patternBytes(1024 * 1024)));
  await writer.complete(emptyPart);
  const reader = store.read('o/p/n', null, never)[Symbol.asyncIterator]();
  await reader.next();
  const file = await open(join(root, 'objects/o/p/n'), 'r+');
  await file.truncate(10);
  await file.close();
  await t.rejects(reader.next(), { message: /shorter/ });
});

t.test('an object is a file that others can read', async (t) => {
  const store = await createFileSystemStore({ root: await newRoot(t) });
  const writer = await store.create('o/p/n', plain, never);
  await writer.complete(partOf(Buffer.from('abc')));
  t.equal(await readFile(store.pathOf?.('o/p/n') ?? '', 'utf8'), 'abc');
  t.throws(() => store.pathOf?.('../n'));
});

t.test('writing after the end is refused', async (t) => {
  const root = await newRoot(t);
  const store = await createFileSystemStore({ root });
  const writer = await store.create('o/p/n', plain, never);
  await writer.complete(emptyPart);
  await t.rejects(writer.writePart(partOf(Buffer.from('x'))));
  await t.rejects(writer.complete(emptyPart));
  t.match(await store.head('o/p/n', never), { size: 0 });
});
