import { noQuota } from '#gateway/access/storage-quota.ts';
import type { CloudFiles } from '#gateway/catalogue/cloud-files.ts';
import { noDigests } from '#gateway/digest/file-digests.ts';
import { ResumableUploads, type ResumableUploadsDeps } from '#gateway/resumable/resumable-uploads.ts';
import { StateStore } from '#gateway/resumable/state-store.ts';
import { localLeases } from '#gateway/resumable/upload-leases.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import { testDeployment } from './new-file.ts';
import { silentLog } from './silent-log.ts';

/** For a janitor over a store without uploads that can go on. */
export const noResumableUploads = {
  expire: async () => false,
  isOrphaned: async () => false,
  isOpen: async () => false,
  isRefused: async () => false,
};

/** Of a gateway whose use nobody asks for. */
export const noUsage = { add() {} };

/** Without rules of files. */
export const nobodyIsBound = async (): Promise<never> => {
  throw new Error('no request of this test is bound by rules');
};

/** Uploads that can go on, over a store that a test brings. */
export function resumableUploadsOn(
  deps: Partial<ResumableUploadsDeps> &
    Pick<ResumableUploadsDeps, 'memory'> & { store: ObjectStore; cloudFiles: CloudFiles },
): ResumableUploads {
  return new ResumableUploads({
    deploymentId: testDeployment,
    states: new StateStore({ store: deps.store, deploymentId: testDeployment }),
    projects: { ensure: async (ownerId, slug) => ({ id: 'p', ownerId, slug }) },
    maxUploadBytes: 100_000_000,
    maxOpenUploads: 100,
    expireAfter: 86_400_000,
    usage: noUsage,
    boundAs: nobodyIsBound,
    digests: noDigests,
    quota: noQuota,
    leases: localLeases,
    log: silentLog(),
    ...deps,
  });
}
