import type { Test } from 'tap';
import { StorageQuota, storageUse } from '#gateway/access/storage-quota.ts';
import type { CloudFile } from '#gateway/catalogue/cloud-file.ts';
import type { CloudFiles } from '#gateway/catalogue/cloud-files.ts';
import type { FileDigests } from '#gateway/digest/file-digests.ts';
import { VariantRemoval } from '#gateway/images/variant-removal.ts';
import type { UploadLinks } from '#gateway/links/upload-links.ts';
import { UploadMemory } from '#gateway/memory/upload-memory.ts';
import { StateStore } from '#gateway/resumable/state-store.ts';
import type { SharedLeases } from '#gateway/resumable/upload-leases.ts';
import type { ImagePreset } from '#kernel/config/image-presets.ts';
import { unauthorized } from '#kernel/errors/catalogue.ts';
import type { Grants } from '#kernel/grants.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import { createRunningUploads } from '#process/lifecycle/workers/running-uploads.ts';
import { directUploadsOn, plansOn } from './direct-uploads.ts';
import { testDeployment } from './new-file.ts';
import { picturesOn } from './pictures.ts';
import { resumableUploadsOn } from './resumable-uploads.ts';
import { serveRoutes } from './serve-routes.ts';
import { silentLog } from './silent-log.ts';
import { filesInMemory, testGateway } from './test-gateway.ts';

const megabyte = 1024 * 1024;
/** Whose requests are that do not say so (header `test-owner`). */
export const testOwner = '0b9e2f4e-6a57-4f8a-9d0c-1f2e3d4c5b6a';

const fileUrl = ({ projectSlug, name }: CloudFile): string => `/_f_/${projectSlug}/${name}`;

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
    maxDirectBytes?: number;
    leases?: SharedLeases;
    quota?: StorageQuota;
    uploadLinks?: UploadLinks;
    /** 401 without the header `test-token`. */
    needToken?: boolean;
    digests?: FileDigests;
    /** Makes a quota that asks the stores. */
    limits?: { files: number; bytes: number };
    /** Those of another gateway. */
    rows?: ReturnType<typeof filesInMemory>;
    /** Of pictures by preset. */
    presets?: readonly ImagePreset[];
    /** Bytes of a process that makes pictures. */
    pictureMemory?: number;
    fileLinks?: 'public' | 'private';
  } = {},
) {
  const { rows, cloudFiles: inMemory } = options.rows ?? filesInMemory();
  const log = silentLog();
  const state = { failRows: false };
  const address = { baseUrl: '' };
  const variants = new VariantRemoval({ store, deploymentId: testDeployment, log });
  const cloudFiles: CloudFiles = variants.over({
    ...inMemory,
    async insert(file, signal) {
      if (state.failRows) throw new Error('the row can not be stored');
      await inMemory.insert(file, signal);
    },
  });
  const { pictures, maker } = picturesOn({
    ...{ store, cloudFiles, presets: options.presets ?? [] },
    ...(options.pictureMemory !== undefined && { memoryLimit: options.pictureMemory }),
  });
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
  // others share leases or rows
  const singleGateway = options.leases === undefined && options.rows === undefined;
  const plans = plansOn(store, options.expireAfter, singleGateway);
  const use = storageUse({ cloudFiles, unfinished: [states, plans] });
  const quota = options.quota ?? (limits && new StorageQuota({ limits, use }));
  const resumable = resumableUploadsOn({
    store,
    cloudFiles,
    memory,
    maxUploadBytes,
    log,
    ...(options.expireAfter === undefined ? {} : { expireAfter: options.expireAfter }),
    ...(options.leases && { leases: options.leases }),
    ...(options.maxOpenUploads && { maxOpenUploads: options.maxOpenUploads }),
    ...(quota && { quota }),
    ...(options.digests && { digests: options.digests }),
  });
  const { direct, ownDirect } = directUploadsOn({
    store,
    cloudFiles,
    plans,
    filesUrl: (slug) => `${address.baseUrl}/_f_/${slug}`,
    log,
    ...(options.expireAfter === undefined ? {} : { expireAfter: options.expireAfter }),
    ...(options.leases && { leases: options.leases }),
    ...(options.maxOpenUploads && { maxOpenUploads: options.maxOpenUploads }),
    ...(options.maxDirectBytes && { maxDirectBytes: options.maxDirectBytes }),
    ...(quota && { quota }),
    ...(options.digests && { digests: options.digests }),
    ...(options.uploadLinks && { uploadLinks: options.uploadLinks }),
  });
  t.teardown(async () => {
    await maker.close();
    if (!(await running.untilIdle(20_000))) throw new Error('an upload is not over');
    if (memory.used !== 0) throw new Error(`${memory.used} bytes of upload memory were not given back`);
    memory.close();
  });
  const { server, baseUrl } = await serveRoutes(
    t,
    testGateway({
      async authenticate(request) {
        if (options.needToken && request.header('test-token') === undefined) throw unauthorized('no token');
        const grants = request.header('test-grants');
        return {
          userId: request.header('test-owner') ?? testOwner,
          tokenId: 't',
          ...(grants === undefined ? {} : { grants: JSON.parse(grants) as Grants }),
        };
      },
      cloudFiles,
      store,
      memory,
      maxUploadBytes,
      resumable,
      direct,
      ownDirect,
      plans,
      fileUrl,
      downloadUrl: fileUrl,
      log,
      ...(quota && { quota }),
      ...(options.digests && { digests: options.digests }),
      ...(options.uploadLinks && { uploadLinks: options.uploadLinks }),
      uploads: running,
      pictures,
      ...(options.fileLinks && { fileLinks: options.fileLinks }),
    }),
    { log, bodyIdleTimeout: options.bodyIdleTimeout ?? 60_000 },
  );
  address.baseUrl = baseUrl;
  const upload = (content: Uint8Array, init: RequestInit = {}): Promise<Response> => {
    const form = new FormData();
    form.set('file', new Blob([content]), 'f.bin');
    return fetch(`${baseUrl}/_f_/demo/upload`, { method: 'POST', body: form, ...init });
  };
  return {
    server,
    baseUrl,
    resumable,
    direct,
    plans,
    cloudFiles,
    rows,
    log,
    memory,
    running,
    state,
    upload,
    maker,
  };
}
