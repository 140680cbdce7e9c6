import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import t, { type Test } from 'tap';
import { type CloudFile, createCloudFiles } from '../../common/control/cloud-files.ts';
import { createFileSystemStore } from '../../common/object-store/file-system/file-system-store.ts';
import type { ObjectStore } from '../../common/object-store/object-store.ts';
import { createJanitor } from '../../gateway/janitor/janitor.ts';
import { objectMetadata } from '../../gateway/object-metadata.ts';
import { openMigratedChdb } from '../services/migrated-chdb.ts';
import { newFile } from '../services/new-file.ts';
import { silentLog } from '../services/silent-log.ts';

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

async function setUp(t: Test, times: { staleAfter?: number; grace?: number } = {}) {
  const folder = await mkdtemp(join(root, 'files-'));
  const store = await createFileSystemStore({ root: folder });
  await db.command(`TRUNCATE TABLE ${database}.cloud_files`);
  const cloudFiles = createCloudFiles({ db, database });
  const log = silentLog();
  const janitor = createJanitor({ store, cloudFiles, log, staleAfter: 0, grace: 0, interval: 1e6, ...times });
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
    objectsRemoved: 0,
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

t.test('an object under our keys without our metadata is removed, one under other keys never', async (t) => {
  const { store, janitor } = await setUp(t);
  const ours = `${owner}/demo/${randomUUID()}_x.txt`;
  const stolen = fileOf('x');
  await put(store, ours, 'x', {});
  await put(store, `${randomUUID()}/demo/${randomUUID()}_y.txt`, 'y', objectMetadata(stolen));
  await put(store, 'backups/2026/database.tar', 'z', {});
  await put(store, 'readme', 'z', {});
  t.match(await janitor.run({ dryRun: false }), {
    objectsSeen: 4,
    objectsRemoved: 2,
    foreignObjects: 2,
    rowsMade: 0,
  });
  t.equal(await store.head(ours, signal), null);
  t.not(await store.head('readme', signal), null);
});

t.test('a row without its object goes, but not many at once', async (t) => {
  const { cloudFiles, janitor, log } = await setUp(t);
  const file = fileOf('lost');
  await cloudFiles.insert(file, signal);
  t.match(await janitor.run({ dryRun: true }), { rowsChecked: 1, rowsRemoved: 1 });
  t.match(await janitor.run({ dryRun: false }), { rowsChecked: 1, rowsRemoved: 1 });
  t.equal(await cloudFiles.findByName(file.name, signal), null);
  for (let i = 0; i < 20; i++) await cloudFiles.insert(fileOf('x'), signal);
  t.match(await janitor.run({ dryRun: false }), { rowsChecked: 20, rowsRemoved: 0, failures: 1 });
  t.match(log.failures.join(), /not in the store/);
});

t.test('uploads that were given up are aborted, others not', async (t) => {
  const { store, folder, janitor } = await setUp(t);
  await store.create(`${owner}/demo/${randomUUID()}_x`, { contentType: 'text/plain', metadata: {} }, signal);
  const careful = createJanitor({
    store,
    cloudFiles: createCloudFiles({ db, database }),
    log: silentLog(),
    staleAfter: 3_600_000,
    grace: 0,
    interval: 1e6,
  });
  t.match(await careful.run({ dryRun: false }), { uploadsAborted: 0 });
  await new Promise((resolve) => setTimeout(resolve, 20));
  t.match(await janitor.run({ dryRun: false }), { uploadsAborted: 1 });
  t.strictSame(await readdir(join(folder, 'tmp')), []);
});

t.test('nothing younger than the grace period is touched', async (t) => {
  const { store, cloudFiles, janitor } = await setUp(t, { grace: 3_600_000 });
  const file = fileOf('young');
  await put(store, file.objectKey, 'young', {});
  await cloudFiles.insert(fileOf('without object'), signal);
  t.match(await janitor.run({ dryRun: false }), {
    rowsMade: 0,
    objectsRemoved: 0,
    rowsRemoved: 0,
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
  t.equal(report.failures + report.objectsRemoved, 1, JSON.stringify([report, log.failures]));
});
