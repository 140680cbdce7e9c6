import type { Test } from 'tap';
import { createConfiguredKeys } from '../../common/auth/signing-keys.ts';
import { unauthorized } from '../../common/errors/catalogue.ts';
import { createRunningUploads } from '../../common/lifecycle/workers/running-uploads.ts';
import type { CloudFile } from '../../common/metadata/cloud-file.ts';
import type { CloudFiles } from '../../common/metadata/cloud-files.ts';
import type { ObjectStore } from '../../common/object-store/object-store.ts';
import type { RedisConnection } from '../../common/redis/redis-connection.ts';
import type { FileDigests } from '../../gateway/digest/file-digests.ts';
import { createFileLinks } from '../../gateway/file-links.ts';
import { UploadMemory } from '../../gateway/memory/upload-memory.ts';
import { StateStore } from '../../gateway/resumable/state-store.ts';
import { gatewayRoutes } from '../../gateway/routes.ts';
import { StorageQuota, storageUse } from '../../gateway/storage-quota.ts';
import { UploadKeys } from '../../gateway/upload-keys.ts';
import { UploadLinks } from '../../gateway/upload-links.ts';
import { testDeployment } from './new-file.ts';
import { noSmallFiles, plentyOfSlots } from './plenty-of-slots.ts';
import { noUsage, resumableUploadsOn } from './resumable-uploads.ts';
import { serveRoutes } from './serve-routes.ts';
import { silentLog } from './silent-log.ts';

const megabyte = 1024 * 1024;
/** Whose requests are that do not say so (header `test-owner`). */
export const testOwner = '0b9e2f4e-6a57-4f8a-9d0c-1f2e3d4c5b6a';

const keys = createConfiguredKeys('a secret of a test, long enough for it');

/** The gateway behind a real HTTP server, over a store that a test brings; rows are kept in a map. */
export async function serveGatewayOn(
  t: Test,
  store: ObjectStore,
  options: {
    maxUploadBytes?: number;
    memoryBytes?: number;
    largestPart?: number;
    bodyIdleTimeout?: number;
    expireAfter?: number;
    maxOpenUploads?: number;
    redis?: RedisConnection;
    quota?: StorageQuota;
    uploadLinks?: UploadLinks;
    /** 401 without the header `test-token`. */
    needToken?: boolean;
    digests?: FileDigests;
    /** Makes a quota that asks the stores. */
    limits?: { files: number; bytes: number };
  } = {},
) {
  const rows = new Map<string, CloudFile>();
  const log = silentLog();
  const state = { failRows: false };
  const cloudFiles: CloudFiles = {
    announce: () => () => {},
    async insert(file) {
      if (state.failRows) throw new Error('the row can not be stored');
      rows.set(file.name, file);
    },
    findByName: async (name) => rows.get(name) ?? null,
    findByPrefixes: async (prefixes) =>
      [...rows.values()].filter(({ name }) => prefixes.some((prefix) => name.startsWith(prefix))),
    namesWithRow: async (names) => new Set(names.filter((name) => rows.has(name))),
    madeBetween: async (after, before) =>
      [...rows.values()].filter(({ createdAt }) => createdAt >= after && createdAt < before),
    list: async () => [...rows.values()],
    count: async () => rows.size,
    findByDigest: async ({ sha256 }) => [...rows.values()].find((file) => file.sha256 === sha256) ?? null,
    async usedBy(account) {
      const files = [...rows.values()].filter(({ ownerId }) => ownerId === account);
      return { files: files.length, bytes: files.reduce((sum, { size }) => sum + size, 0) };
    },
    remove: async (name) => rows.delete(name),
  };
  const memory = new UploadMemory({
    bytes: options.memoryBytes ?? 64 * megabyte,
    largestPart: options.largestPart ?? 8 * megabyte,
    minRate: 0,
    ratePeriod: 1e9,
    waitLimit: 60_000,
  });
  const running = createRunningUploads();
  const maxUploadBytes = options.maxUploadBytes ?? 100_000_000;
  const { limits } = options;
  const states = new StateStore({ store, deploymentId: testDeployment });
  const use = storageUse({ cloudFiles, states });
  const quota = options.quota ?? (limits && new StorageQuota({ limits, use }));
  const resumable = resumableUploadsOn({
    ...{ store, cloudFiles, memory, maxUploadBytes, log },
    ...(options.expireAfter === undefined ? {} : { expireAfter: options.expireAfter }),
    ...(options.redis && { redis: options.redis }),
    ...(options.maxOpenUploads && { maxOpenUploads: options.maxOpenUploads }),
    ...(quota && { quota }),
    ...(options.digests && { digests: options.digests }),
  });
  t.teardown(async () => {
    if (!(await running.untilIdle(20_000))) throw new Error('an upload is not over');
    if (memory.used !== 0) throw new Error(`${memory.used} bytes of upload memory were not given back`);
    memory.close();
  });
  const { server, baseUrl } = await serveRoutes(
    t,
    gatewayRoutes({
      deploymentId: testDeployment,
      usage: noUsage,
      async authenticate(request) {
        if (options.needToken && request.header('test-token') === undefined) throw unauthorized('no token');
        return { userId: request.header('test-owner') ?? testOwner, tokenId: 't' };
      },
      projects: {
        ensure: async (ownerId, slug) => ({ id: 'p', ownerId, slug }),
        find: async (ownerId, slug) => ({ id: 'p', ownerId, slug }),
      },
      cloudFiles,
      store,
      memory,
      keys: new UploadKeys({ cloudFiles, redis: undefined, log }),
      maxUploadBytes,
      resumable,
      ...(quota && { quota }),
      ...(options.digests && { digests: options.digests }),
      fileUrl: (file) => `/_f_/${file.projectSlug}/${file.name}`,
      uploads: running,
      downloads: plentyOfSlots(),
      smallFiles: noSmallFiles(),
      links: createFileLinks(keys),
      uploadLinks: options.uploadLinks ?? new UploadLinks({ keys }),
      filesUrl: (slug) => `http://files.test/_f_/${slug}`,
      downloadUrl: (file) => `/_f_/${file.projectSlug}/${file.name}`,
      fileLinks: 'public',
      log,
    }),
    { log, bodyIdleTimeout: options.bodyIdleTimeout ?? 60_000 },
  );
  const upload = (content: Uint8Array, init: RequestInit = {}): Promise<Response> => {
    const form = new FormData();
    form.set('file', new Blob([content]), 'f.bin');
    return fetch(`${baseUrl}/_f_/demo/upload`, { method: 'POST', body: form, ...init });
  };
  return { server, baseUrl, resumable, cloudFiles, rows, log, memory, running, state, upload };
}
