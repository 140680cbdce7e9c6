import { join } from 'node:path';
import type { Test } from 'tap';
import { FileMarks } from '#catalogue/file-uses/file-marks.ts';
import { Projects } from '#catalogue/projects.ts';
import { ownLocks } from '#coordination/redis/process-lock.ts';
import type { Database } from '#engine/database.ts';
import { FileTrash } from '#gateway/access/file-trash.ts';
import { noQuota, StorageQuota } from '#gateway/access/storage-quota.ts';
import { UploadKeys } from '#gateway/access/upload-keys.ts';
import { type CloudFiles, createCloudFiles } from '#gateway/catalogue/cloud-files.ts';
import { LoggedFiles } from '#gateway/catalogue/logged-files.ts';
import { type FileDigests, noDigests } from '#gateway/digest/file-digests.ts';
import { SmallFiles } from '#gateway/download/small-files.ts';
import { unauthorized } from '#kernel/errors/catalogue.ts';
import { createFileSystemStore } from '#objects/file-system/file-system-store.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import { openMigratedChdb } from './migrated-chdb.ts';
import { serveRoutes } from './serve-routes.ts';
import { silentLog } from './silent-log.ts';
import { testGateway } from './test-gateway.ts';

export const ada = '0b9e2f4e-6a57-4f8a-9d0c-1f2e3d4c5b6a';
export const eve = '1b9e2f4e-6a57-4f8a-9d0c-1f2e3d4c5b6b';

/** The gateway over the embedded engine, its write-ahead log of files and the file system; a token is an account's id. */
export async function serveFiles(
  t: Test,
  options: {
    quotaFiles?: number;
    flushAfter?: number;
    over?: (store: ObjectStore) => ObjectStore;
    now?: () => number;
    digests?: FileDigests;
    maxUploadBytes?: number;
    corsOrigins?: readonly string[];
    /** Wraps the rows of files. */
    overFiles?: (
      files: CloudFiles,
      parts: { readonly db: Database; readonly database: string; readonly projects: Projects },
    ) => CloudFiles;
    /** Absent: deletions are final. */
    trashDays?: number;
    filesTtl?: number;
  } = {},
) {
  const { db, database, folder } = await openMigratedChdb(t);
  const bare = await createFileSystemStore({ root: join(folder, 'files') });
  const store = options.over?.(bare) ?? bare;
  const table = createCloudFiles({ db, database, singleWriter: true });
  const log = silentLog();
  const directory = join(folder, 'file-log');
  const { flushAfter = 3_600_000 } = options;
  const smallFiles = new SmallFiles({ bytes: 1_000_000, singleWriter: true });
  const projects = new Projects({ db, database });
  const logged = smallFiles.over(await LoggedFiles.open({ table, directory, log, flushAfter }));
  const cloudFiles = options.overFiles?.(logged, { db, database, projects }) ?? logged;
  const quota =
    options.quotaFiles === undefined
      ? noQuota
      : new StorageQuota({
          limits: { files: options.quotaFiles, bytes: 0 },
          use: (account, signal) => cloudFiles.usedBy(account, signal),
        });
  t.teardown(() => logged.close());
  const marks = new FileMarks({ db, database });
  const { trashDays = 0, filesTtl = 0 } = options;
  const trash = new FileTrash({ cloudFiles, store, marks, days: trashDays });
  const { digests = noDigests, maxUploadBytes = 1_000_000, corsOrigins = ['*'] } = options;
  const { baseUrl } = await serveRoutes(
    t,
    testGateway({
      async authenticate(request) {
        const userId = (request.header('authorization') ?? '').replace('Bearer ', '');
        if (userId !== ada && userId !== eve) throw unauthorized('not good');
        return { userId, tokenId: 't' };
      },
      projects,
      cloudFiles,
      store,
      quota,
      digests,
      maxUploadBytes,
      log,
      keys: new UploadKeys({ cloudFiles, locks: ownLocks(), ...(options.now && { now: options.now }) }),
      smallFiles,
      trash,
      filesTtl,
    }),
    { log, corsOrigins },
  );
  const ask = (path: string, { account = ada, ...init }: RequestInit & { account?: string } = {}) =>
    fetch(baseUrl + path, { ...init, headers: { ...init.headers, authorization: `Bearer ${account}` } });
  const upload = (name: string, { account = ada, project = 'demo', type = '', content = 'x' } = {}) => {
    const body = new FormData();
    body.set('file', new Blob([content], { type }), name);
    return ask(`/_f_/${project}/upload`, { account, method: 'POST', body });
  };
  const parts = { db, database, store, table, cloudFiles, projects };
  return { baseUrl, ...parts, marks, trash, quota, log, ask, upload };
}
