import { createHash, randomUUID } from 'node:crypto';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import t, { type Test } from 'tap';
import type { CloudFile } from '#gateway/catalogue/cloud-file.ts';
import { type CloudFiles, createCloudFiles } from '#gateway/catalogue/cloud-files.ts';
import { FileDigests } from '#gateway/digest/file-digests.ts';
import { objectMetadata } from '#gateway/files/object-metadata.ts';
import type { JanitorOptions } from '#gateway/janitor/janitor.ts';
import { checkKey } from '#objects/file-key.ts';
import { createFileSystemStore } from '#objects/file-system/file-system-store.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import { createRunningUploads } from '#process/lifecycle/workers/running-uploads.ts';
import { openMigratedChdb } from '../services/migrated-chdb.ts';
import { newFile, testDeployment } from '../services/new-file.ts';
import { silentLog } from '../services/silent-log.ts';
import { partOf } from '../services/store-object.ts';
import { openStubStore, stubPartBytes } from '../services/stub-store.ts';
import { testJanitor } from '../services/test-janitor.ts';

const { signal } = new AbortController();
const { db, folder: root, database } = await openMigratedChdb(t);

const owner = randomUUID();

async function put(store: ObjectStore, key: string, content: string, metadata: Record<string, string>) {
  const bytes = Buffer.from(content);
  const writer = await store.create(key, { contentType: 'text/plain', metadata }, signal);
  await writer.complete({ chunks: [bytes], size: bytes.length, crc32: crc32(bytes) });
}

function fileOf(content: string, originalName = 'ä b.txt'): CloudFile {
  const createdAt = new Date(Date.now() - 60_000);
  return newFile({
    originalName,
    ownerId: owner,
    size: Buffer.byteLength(content),
    crc32: crc32(Buffer.from(content)),
    createdAt,
    updatedAt: createdAt,
  });
}

async function setUp(t: Test, options: Partial<JanitorOptions> = {}) {
  const folder = await mkdtemp(join(root, 'files-'));
  const store = await createFileSystemStore({ root: folder });
  await db.command({ sql: `TRUNCATE TABLE ${database}.cloud_files` });
  const cloudFiles = createCloudFiles({ db, database });
  const log = silentLog();
  const janitor = testJanitor({ store, cloudFiles, log, ...options });
  t.teardown(async () => {
    await janitor.close();
    await store.close();
  });
  return { folder, store, cloudFiles, log, janitor };
}

t.test('what is whole is left alone', async (t) => {
  const { store, cloudFiles, janitor } = await setUp(t);
  const file = fileOf('whole');
  await put(store, file.objectKey, 'whole', objectMetadata(file));
  await cloudFiles.insert(file, signal);
  t.match(await janitor.run({ dryRun: false }), {
    objectsSeen: 1,
    rowsMade: 0,
    objectsLeft: 0,
    rowsRemoved: 0,
    failures: 0,
  });
  t.match(await store.head(file.objectKey, signal), { size: 5 });
});

t.test('an object without a row gets it, with the name that its client gave', async (t) => {
  const { store, cloudFiles, janitor } = await setUp(t);
  const file = fileOf('orphan');
  await put(store, file.objectKey, 'orphan', objectMetadata(file));
  t.match(await janitor.run({ dryRun: true }), { dryRun: true, rowsMade: 1 });
  t.equal(await cloudFiles.findByName(file.name, signal), null, 'a dry run does nothing');
  t.match(await janitor.run({ dryRun: false }), { rowsMade: 1, failures: 0 });
  t.match(await cloudFiles.findByName(file.name, signal), {
    id: file.id,
    originalName: 'ä b.txt',
    ownerId: owner,
    size: 6,
    contentType: 'text/plain',
  });
  t.match(await janitor.run({ dryRun: false }), { rowsMade: 0 });
});

t.test('a row that is made of an object has the user who uploaded it', async (t) => {
  const { store, cloudFiles, janitor } = await setUp(t);
  const file = { ...fileOf('owned'), owner: 'user-1' };
  await put(store, file.objectKey, 'owned', objectMetadata(file));
  t.match(await janitor.run({ dryRun: false }), { rowsMade: 1, failures: 0 });
  t.match(await cloudFiles.findByName(file.name, signal), { id: file.id, owner: 'user-1' });
});

t.test('a row that is made of an object has the SHA-256, where files have one', async (t) => {
  const digests = new FileDigests();
  t.teardown(() => digests.close());
  const { store, cloudFiles, janitor } = await setUp(t, { digests });
  for (const content of ['orphan', 'x'.repeat(200_000)]) {
    const file = fileOf(content);
    await put(store, file.objectKey, content, objectMetadata(file));
    t.match(await janitor.run({ dryRun: true }), { rowsMade: 1 });
    t.match(await janitor.run({ dryRun: false }), { rowsMade: 1, failures: 0 });
    const sha256 = createHash('sha256').update(content).digest('hex');
    t.match(await cloudFiles.findByName(file.name, signal), { id: file.id, sha256 });
  }
});

t.test('a bucket that was restored without its metadata loses nothing', async (t) => {
  const { store, janitor, log } = await setUp(t);
  const keys = Array.from({ length: 15 }, () => fileOf('x').objectKey);
  for (const key of keys) await put(store, key, 'x', {});
  const stolen = { ...fileOf('y'), ownerId: randomUUID() };
  await put(store, fileOf('y').objectKey, 'y', objectMetadata(stolen));
  for (let run = 0; run < 2; run++) {
    const report = await janitor.run({ dryRun: false });
    t.match(report, { objectsSeen: 16, objectsLeft: 16, rowsMade: 0, failures: 0 });
  }
  for (const key of keys) t.not(await store.head(key, signal), null);
  t.match(log.failures.join(), /neither a row nor metadata/);
});

t.test('a description that a kill left without its object is removed', async (t) => {
  const { folder, store, cloudFiles, janitor } = await setUp(t);
  const [gone, removed] = [fileOf('gone'), fileOf('removed')];
  for (const file of [gone, removed]) {
    await put(store, file.objectKey, 'x', objectMetadata(file));
    await rm(join(folder, 'objects', file.objectKey));
  }
  // the kill came before its row was deleted
  await cloudFiles.insert(removed, signal);
  const descriptions = async () =>
    (await readdir(folder, { recursive: true })).filter((path) => path.endsWith('.json')).length;
  await janitor.run({ dryRun: true });
  t.equal(await descriptions(), 2, 'not in a dry run');
  t.match(await janitor.run({ dryRun: false }), { rowsMade: 0, failures: 0 });
  t.equal(await descriptions(), 1);
  // the second run that misses the object removes the row
  for (let run = 0; run < 2; run++) await janitor.run({ dryRun: false });
  t.equal(await cloudFiles.findByName(removed.name, signal), null);
  t.equal(await descriptions(), 0);
});

t.test('what a process that died left of its first check of the store is removed', async (t) => {
  const { store, stub } = await openStubStore(t);
  const { janitor } = await setUp(t, { store });
  const keys = [checkKey(testDeployment, randomUUID()), checkKey(randomUUID(), randomUUID())] as const;
  for (const key of keys) await put(store, key, 'x', {});
  for (const key of keys) {
    const writer = await store.create(key, { contentType: 'text/plain', metadata: {} }, signal);
    await writer.writePart(partOf(Buffer.alloc(stubPartBytes)));
  }
  await sleep(2);
  await janitor.run({ dryRun: true });
  t.ok(await store.head(keys[0], signal), 'not in a dry run');
  t.match(await janitor.run({ dryRun: false }), { uploadsAborted: 1, objectsLeft: 0, failures: 0 });
  t.equal(await store.head(keys[0], signal), null);
  t.ok(await store.head(keys[1], signal), 'what another deployment has stays');
  t.strictSame(
    stub.openUploads().map(({ key }) => key),
    [keys[1]],
  );
});

t.test('what is not of this deployment is not even looked at', async (t) => {
  const { store, cloudFiles, janitor } = await setUp(t);
  const theirs = fileOf('theirs');
  const theirKey = theirs.objectKey.replace(testDeployment, randomUUID());
  const before = theirs.objectKey.slice(testDeployment.length + 1);
  const others = [theirKey, before, 'backups/2026/database.tar', 'readme'];
  for (const key of others) await put(store, key, 'theirs', objectMetadata(theirs));
  t.match(await janitor.run({ dryRun: false }), { objectsSeen: 0, rowsMade: 0, objectsLeft: 0, failures: 0 });
  t.equal(await cloudFiles.findByName(theirs.name, signal), null);
  for (const key of others) t.not(await store.head(key, signal), null);
});

t.test('a row without its object goes with the second run to miss it, but not many at once', async (t) => {
  const { cloudFiles, janitor, log } = await setUp(t);
  const file = fileOf('lost');
  await cloudFiles.insert(file, signal);
  t.match(await janitor.run({ dryRun: true }), { rowsChecked: 1, rowsWithoutObject: 1, rowsRemoved: 0 });
  t.match(await janitor.run({ dryRun: false }), { rowsChecked: 1, rowsWithoutObject: 1, rowsRemoved: 0 });
  t.not(await cloudFiles.findByName(file.name, signal), null);
  t.match(await janitor.run({ dryRun: true }), { rowsRemoved: 1 });
  t.match(await janitor.run({ dryRun: false }), { rowsChecked: 1, rowsRemoved: 1 });
  t.equal(await cloudFiles.findByName(file.name, signal), null);
  for (let i = 0; i < 20; i++) await cloudFiles.insert(fileOf('x'), signal);
  for (let run = 0; run < 3; run++) {
    t.match(await janitor.run({ dryRun: false }), { rowsChecked: 20, rowsRemoved: 0, failures: 1 });
  }
  t.match(log.failures.join(), /missing from the store/);
});

t.test('a row whose object is back begins anew; two runs within the grace period are one', async (t) => {
  const { store, cloudFiles, janitor } = await setUp(t);
  const file = fileOf('lost');
  await cloudFiles.insert(file, signal);
  t.match(await janitor.run({ dryRun: false }), { rowsWithoutObject: 1, rowsRemoved: 0 });
  await put(store, file.objectKey, 'lost', objectMetadata(file));
  t.match(await janitor.run({ dryRun: false }), { rowsWithoutObject: 0 });
  await store.delete(file.objectKey, signal);
  t.match(await janitor.run({ dryRun: false }), { rowsWithoutObject: 1, rowsRemoved: 0 });

  const patient = await setUp(t, { grace: 30_000 });
  await patient.cloudFiles.insert(fileOf('lost'), signal);
  for (let run = 0; run < 3; run++) {
    t.match(await patient.janitor.run({ dryRun: false }), { rowsWithoutObject: 1, rowsRemoved: 0 });
  }
});

t.test('a run on the timer looks at so many objects, and the next one goes on there', async (t) => {
  const files = Array.from({ length: 5 }, () => fileOf('orphan'));
  const { store, cloudFiles, janitor } = await setUp(t, { objectsPerRun: 2, interval: 20 });
  for (const file of files) await put(store, file.objectKey, 'orphan', objectMetadata(file));
  janitor.start();
  const names = files.map(({ name }) => name);
  while ((await cloudFiles.namesWithRow(names, signal)).size < files.length) await sleep(20);
  t.match(await janitor.run({ dryRun: false }), { objectsSeen: 5, objectsGoOn: false, rowsMade: 0 });
});

t.test('uploads that were given up are aborted, others not', async (t) => {
  const { store, folder, janitor } = await setUp(t);
  const { objectKey } = fileOf('x');
  await store.create(objectKey, { contentType: 'text/plain', metadata: {} }, signal);
  const careful = await setUp(t, { store, staleAfter: 3_600_000 });
  t.match(await careful.janitor.run({ dryRun: false }), { uploadsAborted: 0 });
  await sleep(20);
  const uploads = createRunningUploads();
  uploads.begin({}, objectKey);
  const alive = await setUp(t, { store, uploads });
  t.match(await alive.janitor.run({ dryRun: false }), { uploadsAborted: 0 }, 'this process writes to it');
  t.match(await janitor.run({ dryRun: false }), { uploadsAborted: 1 });
  t.strictSame(await readdir(join(folder, 'tmp')), []);
});

t.test('open uploads in S3: those of others stay, and a long one that gets its parts lives', async (t) => {
  const { store, stub } = await openStubStore(t);
  const begin = async (key: string) => {
    const writer = await store.create(key, { contentType: 'text/plain', metadata: {} }, signal);
    await writer.writePart(partOf(Buffer.alloc(stubPartBytes)));
    return writer;
  };
  const dead = fileOf('dead').objectKey;
  const theirs = fileOf('theirs').objectKey.replace(testDeployment, randomUUID());
  const application = ['video/2026/long.mp4', fileOf('x').objectKey.slice(testDeployment.length + 1)];
  const long = await begin(fileOf('long').objectKey);
  for (const key of [dead, theirs, ...application]) await begin(key);
  await sleep(1200);
  await long.writePart(partOf(Buffer.alloc(stubPartBytes)));
  const { janitor } = await setUp(t, { store, staleAfter: 1000 });
  t.match(await janitor.run({ dryRun: false }), { uploadsAborted: 1, failures: 0 });
  const left = stub.openUploads().map(({ key }) => key);
  t.notOk(left.includes(dead));
  t.equal(left.length, 4);
  await long.complete(partOf(Buffer.from('end')));
});

t.test('nothing younger than the grace period is touched', async (t) => {
  const { store, cloudFiles, janitor } = await setUp(t, { grace: 3_600_000 });
  const file = fileOf('young');
  await put(store, file.objectKey, 'young', {});
  await cloudFiles.insert(fileOf('without object'), signal);
  t.match(await janitor.run({ dryRun: false }), {
    rowsMade: 0,
    objectsLeft: 0,
    rowsRemoved: 0,
    picturesRemoved: 0,
    rowsChecked: 0,
  });
});

t.test('one thing that fails does not keep it from the others', async (t) => {
  const { store, folder, janitor, log } = await setUp(t);
  const file = fileOf('orphan');
  await put(store, file.objectKey, 'orphan', objectMetadata(file));
  const broken = fileOf('broken');
  await put(store, broken.objectKey, 'broken', objectMetadata(broken));
  await writeFile(join(folder, 'meta', `${broken.objectKey}.json`), 'no json');
  const report = await janitor.run({ dryRun: false });
  t.equal(report.rowsMade, 1);
  t.equal(report.failures + report.objectsLeft, 1, JSON.stringify([report, log.failures]));
});

t.test('what is replaced', async (t) => {
  const hour = 3_600_000;
  const folder = randomUUID();
  const at = (age: number, path: string, more: Partial<CloudFile> = {}): CloudFile => {
    const createdAt = new Date(Date.now() - age);
    return newFile({ ownerId: owner, folder, path, size: 1, createdAt, updatedAt: createdAt, ...more });
  };
  const listed = async (cloudFiles: CloudFiles, { name, projectSlug }: CloudFile) =>
    (await cloudFiles.list({ ownerId: owner, projectSlug, folder, limit: 100 }, signal)).some(
      (file) => file.name === name,
    );
  /** A file, and one that is newer. */
  const pair = async (
    { store, cloudFiles }: Awaited<ReturnType<typeof setUp>>,
    both: readonly [CloudFile, CloudFile],
  ) => {
    for (const file of both) {
      await put(store, file.objectKey, 'x', {});
      await cloudFiles.insert(file, signal);
    }
    const [older, newer] = both;
    return async () => {
      t.not(await store.head(newer.objectKey, signal), null);
      t.equal(await listed(cloudFiles, newer), true);
      const [object, row] = [await store.head(older.objectKey, signal), await listed(cloudFiles, older)];
      t.equal(object !== null, row);
      return row;
    };
  };

  await t.test('is removed, and its quota is free at once', async (t) => {
    const freed: string[] = [];
    const quota = { freed: (account: string) => void freed.push(account) };
    const args = await setUp(t, { quota, grace: hour });
    const isThere = await pair(args, [at(3 * hour, 'a'), at(2 * hour, 'a')]);
    t.match(await args.janitor.run({ dryRun: true }), { replacedRemoved: 1 });
    t.equal(await isThere(), true);
    t.match(await args.janitor.run({ dryRun: false }), { replacedRemoved: 1, failures: 0 });
    t.equal(await isThere(), false);
    t.strictSame(freed, [owner]);
  });

  await t.test('is left alone while the newer one is new: somebody may read it', async (t) => {
    const args = await setUp(t, { grace: hour });
    const isThere = await pair(args, [at(30 * hour, 'b'), at(0, 'b')]);
    t.match(await args.janitor.run({ dryRun: false }), { replacedRemoved: 0 });
    t.equal(await isThere(), true);
  });

  await t.test('by a file that was held for days goes once that one is published', async (t) => {
    const args = await setUp(t);
    const newer = at(200 * hour, 'c', { state: 'checking' });
    const older = at(300 * hour, 'c');
    const isThere = await pair(args, [older, { ...newer, state: undefined }]);
    await args.cloudFiles.change([newer.name], { state: 'checking' }, signal);
    t.match(await args.janitor.run({ dryRun: false }), { replacedRemoved: 0 });
    await args.cloudFiles.change([newer.name], { state: null }, signal);
    const shown = await args.cloudFiles.findByName(newer.name, signal);
    t.ok((shown?.updatedAt.getTime() ?? 0) > Date.now() - hour);
    t.same(shown?.createdAt, newer.createdAt);
    t.match(await args.janitor.run({ dryRun: false }), { replacedRemoved: 1 });
    t.equal(await isThere(), false);
  });

  await t.test('stays while a record names it', async (t) => {
    const held: string[] = [];
    const used = {
      async hold(_: unknown, names: readonly string[]) {
        held.push(...names);
        return { inUse: new Set(names), release: async () => {}, deleted() {} };
      },
    };
    const args = await setUp(t, { used });
    const older = at(3 * hour, 'd');
    const isThere = await pair(args, [older, at(2 * hour, 'd')]);
    t.match(await args.janitor.run({ dryRun: false }), { replacedRemoved: 0, failures: 0 });
    t.strictSame(held, [older.name]);
    t.equal(await isThere(), true);
  });
});
