import { createConfiguredKeys } from '#auth/signing-keys.ts';
import { noQuota } from '#gateway/access/storage-quota.ts';
import { noDigests } from '#gateway/digest/file-digests.ts';
import { DirectUploads, type DirectUploadsDeps } from '#gateway/direct/direct-uploads.ts';
import { OwnDirectStore } from '#gateway/direct/own-direct-store.ts';
import { TextSigner } from '#gateway/links/text-signer.ts';
import { PlanStore } from '#gateway/plans/plan-store.ts';
import { localLeases } from '#gateway/resumable/upload-leases.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import { testDeployment } from './new-file.ts';
import { nobodyIsBound, noUsage } from './resumable-uploads.ts';
import { silentLog } from './silent-log.ts';

const day = 86_400_000;
const keys = createConfiguredKeys('a secret of a test, long enough for it');

/** Plans of uploads in a store that a test brings. */
export function plansOn(store: ObjectStore, expireAfter = day, singleGateway = true): PlanStore {
  return new PlanStore({ store, deploymentId: testDeployment, expireAfter, singleGateway, log: silentLog() });
}

/** For parts of a gateway that meet no planned upload. */
export const noPlans = {
  load: async () => null,
  has: async () => false,
  decidesOn: async () => false,
  closeFor: async () => {},
} satisfies Partial<PlanStore>;

/** Direct uploads over stores that a test brings, with whatever else it brings in place of the usual. */
export function directUploadsOn(
  deps: Partial<DirectUploadsDeps> &
    Pick<DirectUploadsDeps, 'cloudFiles'> & {
      readonly store: ObjectStore;
      readonly filesUrl: (slug: string) => string;
    },
): { readonly direct: DirectUploads; readonly ownDirect: OwnDirectStore | null; readonly plans: PlanStore } {
  const { store, filesUrl, expireAfter = day } = deps;
  const signer = new TextSigner(keys, 'a part of a test');
  const ownDirect = store.direct === undefined ? new OwnDirectStore({ store, signer, filesUrl }) : null;
  const { plans = plansOn(store, expireAfter) } = deps;
  const direct = new DirectUploads({
    direct: store.direct ?? (ownDirect as OwnDirectStore),
    keepsParts: ownDirect !== null,
    plans,
    projects: { ensure: async (ownerId, slug) => ({ id: 'p', ownerId, slug }) },
    digests: noDigests,
    quota: noQuota,
    usage: noUsage,
    boundAs: nobodyIsBound,
    uploadLinks: { giveBack: async () => {} },
    deploymentId: testDeployment,
    maxDirectBytes: 2 ** 40,
    maxOpenUploads: 1000,
    expireAfter,
    leases: localLeases,
    log: silentLog(),
    ...deps,
  });
  return { direct, ownDirect, plans };
}
