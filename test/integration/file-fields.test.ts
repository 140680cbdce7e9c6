/** Fields with files: what requests may say, what every answer has, and which files go when. */
import { randomUUID } from 'node:crypto';
import t, { type Test } from 'tap';
import { FileUses } from '#catalogue/file-uses/file-uses.ts';
import { UsedFiles } from '#gateway/access/used-files.ts';
import { noQuota } from '#gateway/access/storage-quota.ts';
import type { CloudFile } from '#gateway/catalogue/cloud-file.ts';
import { createCloudFiles } from '#gateway/catalogue/cloud-files.ts';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { newFile } from '../services/new-file.ts';
import { openQueryHarness, refusal, spaceOf, testDatabase } from '../services/query-harness.ts';
import { silentLog } from '../services/silent-log.ts';

const harness = await openQueryHarness();
t.teardown(() => harness.close());
const { db } = harness;
const { signal } = new AbortController();
const cloudFiles = createCloudFiles({ db, database: testDatabase, singleWriter: true });
const uses = new FileUses({ db, database: testDatabase });
const objects = new Set<string>();
const gateway = new UsedFiles({
  uses,
  cloudFiles,
  store: {
    async deleteAll(keys) {
      for (const key of keys) objects.delete(key);
      return [];
    },
  },
  quota: noQuota,
  log: silentLog(),
});
t.teardown(() => gateway.close());

async function upload(change: Partial<CloudFile> = {}): Promise<string> {
  const file = newFile({ ownerId: 'owner', projectSlug: 'demo', contentType: 'image/png', size: 123, ...change });
  await cloudFiles.insert(file, signal);
  objects.add(file.objectKey);
  return file.name;
}

/** Files that are still there. */
async function there(...names: readonly string[]): Promise<readonly boolean[]> {
  gateway.deleteCondemned();
  await gateway.idle();
  const found = await cloudFiles.namesWithRow(names, signal);
  return names.map((name) => found.has(name));
}

/** What answers have of a file. */
function shown(name: string) {
  return { name, s3Link: `http://files.test/_f_/demo/${name}`, contentType: 'image/png', size: 123 };
}

const fields = [
  { name: 'title', type: 'TEXT' },
  { name: 'photo', type: 'FILE' },
  { name: 'album', type: 'FILE', many: true },
];

t.test('a record names files', async (t: Test) => {
  const space = spaceOf;
  const [a, b, c] = [await upload(), await upload(), await upload()];
  const one = await space.call({ path: '/demo/posts/_single_', body: { title: 'x', photo: a, album: [b, c] } });
  t.match(one, { status: 200, body: { photo: shown(a), album: [shown(b), shown(c)] } });
  console.log(one.text);
  t.strictSame((await space.call({ path: '/demo/posts' })).body, [one.body]);
  await eventuallyEqual(() => there(a, b, c), [true, true, true]);
  t.end;
});
void randomUUID;
void refusal;
