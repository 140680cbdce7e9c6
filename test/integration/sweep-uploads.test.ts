import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import t, { type Test } from 'tap';
import type { CloudFile } from '../../common/metadata/cloud-file.ts';
import { createCloudFiles } from '../../common/metadata/cloud-files.ts';
import { createFileSystemStore } from '../../common/object-store/file-system/file-system-store.ts';
import type { ObjectStore } from '../../common/object-store/object-store.ts';
import { sweepUploads } from '../../gateway/janitor/sweep-uploads.ts';
import { objectMetadata } from '../../gateway/object-metadata.ts';
import { openMigratedChdb } from '../services/migrated-chdb.ts';
import { newFile } from '../services/new-file.ts';
import { silentLog } from '../services/silent-log.ts';
import { partOf } from '../services/store-object.ts';

const { signal } = new AbortController();
const { db, folder: root, database } = await openMigratedChdb(t);

const owner = randomUUID();
const content = Buffer.from('a file');

function fileOfOwner(): CloudFile {
  const now = new Date();
  return newFile({
    originalName: 'ä.txt',
    ownerId: owner,
    size: content.length,
    crc32: crc32(content),
    createdAt: now,
    updatedAt: now,
  });
}

async function setUp(t: Test) {
  const folder = await mkdtemp(join(root, 'files-'));
  const store = await createFileSystemStore({ root: folder });
  t.teardown(() => store.close());
  await db.command({ sql: `TRUNCATE TABLE ${database}.cloud_files` });
  const cloudFiles = createCloudFiles({ db, database });
  const log = silentLog();
  const begin = (file: CloudFile, metadata: Record<string, string> = objectMetadata(file)) =>
    store.create(file.objectKey, { contentType: 'text/plain', metadata }, signal);
  const put = async (file: CloudFile, metadata?: Record<string, string>) =>
    (await begin(file, metadata)).complete(partOf(content));
  const rows = async (file: CloudFile): Promise<number> => {
    const found = await db.rows({ sql: `SELECT 1 FROM ${database}.cloud_files WHERE name = '${file.name}'` });
    return found.length;
  };
  const sweep = (
    files: readonly CloudFile[],
    over: ObjectStore = store,
    pauses: readonly number[] = [0, 1, 1],
  ) =>
    sweepUploads(
      { store: over, cloudFiles, log, pauses },
      files.map(({ objectKey }) => objectKey),
      signal,
    );
  return { folder, store, cloudFiles, log, begin, put, rows, sweep };
}

t.test('each upload of a dead process gets what the janitor would give it', async (t) => {
  const { folder, store, cloudFiles, begin, put, rows, sweep } = await setUp(t);
  const [whole, withoutRow, open, nothing, foreign, living] = [
    fileOfOwner(),
    fileOfOwner(),
    fileOfOwner(),
    fileOfOwner(),
    fileOfOwner(),
    fileOfOwner(),
  ];
  await put(whole);
  await cloudFiles.insert(whole, signal);
  await put(withoutRow);
  const dead = await begin(open);
  await dead.writePart(partOf(content));
  await put(foreign, { other: 'metadata' });
  const going = await begin(living);

  t.strictSame(await sweep([whole, withoutRow, open, nothing, foreign]), {
    uploads: 5,
    whole: 1,
    rowsMade: 1,
    objectsLeft: 1,
    nothing: 2,
    failures: 0,
  });
  t.equal(await rows(whole), 1);
  t.equal(await rows(withoutRow), 1);
  t.match(await cloudFiles.findByName(withoutRow.name, signal), {
    originalName: 'ä.txt',
    size: content.length,
    ownerId: owner,
  });
  for (const file of [open, nothing, foreign]) {
    t.equal(await rows(file), 0);
    const left = (await store.head(file.objectKey, signal)) !== null;
    t.equal(left, file === foreign, 'an object is never removed');
  }
  t.equal((await readdir(join(folder, 'tmp'))).length, 1, 'what others write goes on');
  await going.complete(partOf(content));
  t.equal((await store.head(living.objectKey, signal))?.size, content.length);
});

t.test('a row that was on its way when the process died is not made a second time', async (t) => {
  const { cloudFiles, put, rows, sweep } = await setUp(t);
  const file = fileOfOwner();
  await put(file);
  const swept = sweep([file], undefined, [0, 300, 1]);
  await cloudFiles.insert(file, signal);
  t.match(await swept, { whole: 1, rowsMade: 0 });
  t.equal(await rows(file), 1);
});

t.test('an object that appears late is seen in the last look', async (t) => {
  const { store, put, rows, sweep } = await setUp(t);
  const file = fileOfOwner();
  let heads = 0;
  const late: ObjectStore = {
    ...store,
    async head(key, signal) {
      if (heads++ === 0) {
        await put(file);
        return null;
      }
      return store.head(key, signal);
    },
  };
  t.match(await sweep([file], late), { rowsMade: 1, nothing: 0 });
  t.equal(await rows(file), 1);
});

t.test('what fails is tried again, and counted when it goes on failing', async (t) => {
  const { store, log, put, sweep } = await setUp(t);
  const [once, always] = [fileOfOwner(), fileOfOwner()];
  await put(once);
  let failed = false;
  const failing: ObjectStore = {
    ...store,
    async abortUploadsOf(key, signal) {
      if (key === always.objectKey) throw new Error('store away');
      if (!failed) {
        failed = true;
        throw new Error('for a moment');
      }
      return store.abortUploadsOf(key, signal);
    },
    async head(key, signal) {
      if (key === always.objectKey) throw new Error('store away');
      return store.head(key, signal);
    },
  };
  t.match(await sweep([once, always], failing), { rowsMade: 1, failures: 1, nothing: 0 });
  t.ok(log.failures.length >= 3);
});

t.test('a stop ends it', async (t) => {
  const { store, cloudFiles, log } = await setUp(t);
  const closing = new AbortController();
  const swept = sweepUploads({ store, cloudFiles, log }, [fileOfOwner().objectKey], closing.signal);
  closing.abort(new Error('the server stops'));
  await t.rejects(swept);
});
