/** A folder of many files: its pages, the lookup of one of them, and its deletion by blocks. */
import { randomUUID } from 'node:crypto';
import t from 'tap';
import { noQuota } from '#gateway/access/storage-quota.ts';
import type { CloudFile } from '#gateway/catalogue/cloud-file.ts';
import { createCloudFiles } from '#gateway/catalogue/cloud-files.ts';
import type { FileCursor } from '#gateway/catalogue/file-list.ts';
import { fileRow } from '#gateway/catalogue/file-row.ts';
import { deleteFolder } from '#gateway/operations/delete-folder.ts';
import type { HttpResponse } from '#server/http/http-types.ts';
import { noPlans } from '../services/direct-uploads.ts';
import { fakeRequest } from '../services/fake-request.ts';
import { openMigratedChdb } from '../services/migrated-chdb.ts';
import { newFile } from '../services/new-file.ts';
import { noTrash } from '../services/no-trash.ts';
import { noUses } from '../services/no-uses.ts';
import { recordingDatabase } from '../services/recording-database.ts';

const never = new AbortController().signal;
const ownerId = randomUUID();
const projectSlug = 'demo';
const [large, deleted, small] = [randomUUID(), randomUUID(), randomUUID()];
/** Of some marks of the index in either table. */
const [manyFiles, deletedFiles, fewFiles] = [20_000, 2500, 3];

const { db, database } = await openMigratedChdb(t);
const recorded = recordingDatabase(db, '/');
const files = createCloudFiles({ db: recorded.db, database });

function filesOf(folder: string, count: number): readonly CloudFile[] {
  const begun = Date.now() - manyFiles * 10;
  return Array.from({ length: count }, (_, at) => {
    // some of them at the same time
    const createdAt = new Date(begun + Math.floor(at / 3));
    const file = newFile({ ownerId, projectSlug, folder, path: `v/${at}.ts`, createdAt });
    return { ...file, id: randomUUID() };
  });
}
const many = filesOf(large, manyFiles);
await files.insertRows(many.map(fileRow));
await files.insertRows(filesOf(deleted, deletedFiles).map(fileRow));
await files.insertRows(filesOf(small, fewFiles).map(fileRow));

/** The parts of the index that the last statement on a table reads, and all of them. */
async function marksRead(table: string): Promise<readonly [read: number, all: number]> {
  const sql = recorded.all.findLast((statement) => statement.sql.includes(`FROM ${database}.${table}`))?.sql;
  const lines = await db.rows<{ explain: string }>({ sql: `EXPLAIN indexes = 1 ${sql}` });
  const marks = lines.flatMap(({ explain }) => {
    const [, read, all] = /Granules: (\d+)\/(\d+)/.exec(explain) ?? [];
    return all === undefined ? [] : [[Number(read), Number(all)] as const];
  });
  return [Math.min(...marks.map(([read]) => read)), Math.max(...marks.map(([, all]) => all))];
}

t.test('one file is found by a small part of the table', async (t) => {
  const wanted = many[12_345] as CloudFile;
  t.match(await files.findInFolder({ folder: large, path: 'v/12345.ts' }, never), { name: wanted.name });
  const [read, all] = await marksRead('cloud_files');
  t.equal(read, 1);
  t.ok(all > 2, `${all} marks`);
  t.equal(await files.findInFolder({ folder: large, path: 'v/none.ts' }, never), null);
});

t.test('lookups that come together are one statement, also those of uploads', async (t) => {
  const before = recorded.all.length;
  const paths = Array.from({ length: 100 }, (_, at) => ({ folder: large, path: `v/${at}.ts` }));
  const found = await Promise.all(paths.map((place) => files.currentInFolder(place, never)));
  t.strictSame(
    found.map((file) => file?.name),
    many.slice(0, 100).map(({ name }) => name),
  );
  t.equal(recorded.all.length, before + 1);
});

t.test('pages have each file once', async (t) => {
  const query = { ownerId, projectSlug, folder: large, limit: 3000 };
  for (const order of [{ ascending: true }, {}, { byName: true }]) {
    const seen = new Set<string>();
    for (let after: FileCursor | undefined; ; ) {
      const page = await files.list({ ...query, ...order, after }, never);
      for (const { name } of page) seen.add(name);
      after = page.at(-1);
      if (page.length < query.limit) break;
    }
    t.equal(seen.size, manyFiles);
  }
  t.equal(await files.count(query, never), manyFiles);
});

t.test('a page of a small folder does not read the files of a large one', async (t) => {
  t.equal((await files.list({ ownerId, projectSlug, folder: small, limit: 100 }, never)).length, fewFiles);
  await files.count({ ownerId, projectSlug, folder: small, limit: 0 }, never);
  const [read, all] = await marksRead('file_list');
  t.ok(read <= 2 && all > 15, `${read} of ${all} marks`);
});

t.test('the deletion goes by blocks, and ends before proxies give up', async (t) => {
  const blocks: number[] = [];
  const listed: number[] = [];
  let clock = 0;
  t.intercept(performance, 'now', { value: () => clock });
  const handler = deleteFolder.handler({
    authenticate: () => ({ userId: ownerId, tokenId: 't' }),
    cloudFiles: {
      ...files,
      list(query, signal) {
        listed.push(query.limit);
        return files.list(query, signal);
      },
    },
    store: {
      delete: async () => {},
      async deleteAll(keys) {
        blocks.push(keys.length);
        // each block takes fifteen seconds
        clock += 15_000;
        return [];
      },
    },
    quota: noQuota,
    plans: noPlans,
    trash: noTrash,
    used: noUses,
  });
  const request = () => fakeRequest({ method: 'DELETE', params: { project: projectSlug, folder: deleted } });
  const answer = async () => JSON.parse(`${((await handler(request())) as HttpResponse).body}`);
  t.strictSame(await answer(), { deleted: 2000, failed: [], more: true });
  t.strictSame(blocks, [1000, 1000]);
  const left = (folder: string) => files.count({ ownerId, projectSlug, folder, limit: 0 }, never);
  t.equal(await left(deleted), deletedFiles - 2000);
  t.strictSame(await answer(), { deleted: deletedFiles - 2000, failed: [], more: false });
  t.ok(listed.every((limit) => limit <= 1000));
  t.strictSame([await left(deleted), await left(small), await left(large)], [0, fewFiles, manyFiles]);
});
