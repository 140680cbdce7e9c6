import { createStoredKeys } from '#auth/signing-keys.ts';
import type { ProcessServices } from '#process/lifecycle/service.ts';
import { noQuota, type Quota, StorageQuota, storageUse } from './access/storage-quota.ts';
import type { HiddenState } from './catalogue/cloud-file.ts';
import { FileDigests, noDigests } from './digest/file-digests.ts';
import { DirectUploads } from './direct/direct-uploads.ts';
import { OwnDirectStore } from './direct/own-direct-store.ts';
import { createFileLinks } from './links/file-links.ts';
import type { LinkUses } from './links/link-uses.ts';
import { TextSigner } from './links/text-signer.ts';
import { UploadLinks } from './links/upload-links.ts';
import type { UploadMemory } from './memory/upload-memory.ts';
import type { GatewayStores } from './open-stores.ts';
import { PlanStore } from './plans/plan-store.ts';
import { ResumableUploads } from './resumable/resumable-uploads.ts';
import { StateStore } from './resumable/state-store.ts';
import type { SharedLeases } from './resumable/upload-leases.ts';

interface OpenUploadsDeps {
  readonly stores: Pick<GatewayStores, 'store' | 'states' | 'cloudFiles'>;
  readonly memory: UploadMemory;
  readonly leases: SharedLeases;
  readonly linkUses: LinkUses;
  /** Of a file that nobody has scanned. */
  readonly newState: HiddenState | undefined;
  /** Base address of a project's files. */
  readonly filesUrl: (projectSlug: string) => string;
}

/** The uploads that go on after a request, and what all uploads share: quota, digests and links. */
export function openUploads(
  services: ProcessServices,
  { stores, memory, leases, linkUses, newState, filesUrl }: OpenUploadsDeps,
) {
  const { config, db, database, deployment, fileSenders, projects, usage, closed, log } = services;
  const { store, cloudFiles } = stores;
  const deploymentId = deployment.id;
  const expireAfter = config.janitorStaleAfter;
  const states = new StateStore({ store: stores.states, deploymentId });
  const plans = new PlanStore({
    ...{ store: stores.states, deploymentId, expireAfter, log },
    // no other process uses the embedded stores
    singleGateway: config.clickhouse === undefined,
  });
  const quota = openQuota(config, { cloudFiles, unfinished: [states, plans] });
  const keys = createStoredKeys({ db, database });
  const digests = config.digest === 'sha-256' ? new FileDigests() : noDigests;
  const uploadLinks = new UploadLinks({ keys, uses: linkUses, closed });
  const shared = {
    ...{
      store,
      cloudFiles,
      projects,
      digests,
      quota,
      usage,
      leases,
      log,
      deploymentId,
      expireAfter,
      newState,
    },
    boundAs: fileSenders.boundAs,
    maxOpenUploads: config.maxOpenUploads,
  };
  const signer = new TextSigner(keys, 'sluice part of an upload 1');
  const ownDirect = store.direct === undefined ? new OwnDirectStore({ store, signer, filesUrl }) : null;
  return {
    ...{ states, plans, quota, digests, uploadLinks, ownDirect },
    links: createFileLinks(keys),
    resumable: new ResumableUploads({
      ...shared,
      states,
      memory,
      maxUploadBytes: config.maxUploadBytes,
    }),
    direct: new DirectUploads({
      ...shared,
      plans,
      uploadLinks,
      direct: store.direct ?? (ownDirect as OwnDirectStore),
      keepsParts: ownDirect !== null,
      maxDirectBytes: config.maxDirectBytes,
    }),
  };
}

function openQuota(
  { storageQuota: limits }: ProcessServices['config'],
  stored: Parameters<typeof storageUse>[0],
): Quota {
  if (limits.files === 0 && limits.bytes === 0) return noQuota;
  return new StorageQuota({ limits, use: storageUse(stored) });
}
