import type { RemovePart } from '#catalogue/account-removals.ts';
import { ApiError } from '#kernel/errors/api-error.ts';
import { readFileKey } from '#objects/file-key.ts';
import { keysAtOnce, type ObjectStore } from '#objects/object-store.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';
import { variantsPrefix } from '../images/variant-key.ts';
import { plansPrefix, readPlanKey } from '../plans/direct-plan.ts';
import type { PlanStore } from '../plans/plan-store.ts';
import type { ResumableUploads } from '../resumable/resumable-uploads.ts';
import type { StateStore } from '../resumable/state-store.ts';
import { readUploadKey, uploadsPrefix } from '../resumable/upload-state.ts';

interface RemoveFilesDeps {
  readonly store: Pick<ObjectStore, 'list' | 'deleteAll' | 'listOpenUploads' | 'abortUpload'>;
  readonly cloudFiles: Pick<CloudFiles, 'removeOwner'>;
  readonly states: Pick<StateStore, 'uploadsOf'>;
  readonly resumable: Pick<ResumableUploads, 'drop'>;
  readonly plans: Pick<PlanStore, 'closeAll' | 'closeFor'>;
  readonly deploymentId: string;
}

/**
 * Removes the uploads, objects and rows of a deleted account. The objects come first: the janitor makes rows for objects
 * that have none.
 */
export function removeFiles(deps: RemoveFilesDeps): RemovePart {
  const { store, cloudFiles, states, resumable, plans, deploymentId } = deps;
  return async (ownerId, signal, isLast) => {
    for (const upload of await states.uploadsOf(ownerId, signal))
      await resumable.drop(upload, signal).catch((error: unknown) => {
        // it has ended, or a join holds it: the next pass finds what is left
        if (!(error instanceof ApiError)) throw error;
      });
    // requests under way drop their own uploads when they are refused
    if (isLast) await abortUploads(store, ownerId, deploymentId, signal);
    await closePlans(deps, ownerId, signal);
    await deleteBelow(store, `${deploymentId}/${ownerId}/`, signal, (keys) =>
      plans.closeFor(
        keys.flatMap((key) => readFileKey(key) ?? []),
        signal,
      ),
    );
    await deleteBelow(store, `${variantsPrefix(deploymentId)}${ownerId}/`, signal);
    await deleteBelow(store, `${uploadsPrefix(deploymentId)}${ownerId}/`, signal);
    await cloudFiles.removeOwner(ownerId, signal);
  };
}

async function abortUploads(
  store: RemoveFilesDeps['store'],
  ownerId: string,
  deploymentId: string,
  signal: AbortSignal,
): Promise<void> {
  for await (const upload of store.listOpenUploads(signal)) {
    const address = readFileKey(upload.key) ?? readUploadKey(upload.key);
    if (address?.ownerId === ownerId && address.deploymentId === deploymentId)
      await store.abortUpload(upload, signal);
  }
}

/** Ends planned uploads, and removes their parts. Marks of ended ones stay until no bytes can arrive any more. */
async function closePlans(
  { store, plans, deploymentId }: RemoveFilesDeps,
  ownerId: string,
  signal: AbortSignal,
): Promise<void> {
  const parts: string[] = [];
  for await (const { key } of store.list(`${plansPrefix(deploymentId)}${ownerId}/`, signal)) {
    const found = readPlanKey(key);
    if (found?.is === 'plan') await plans.closeAll([found], signal);
    else if (found?.is === 'part') parts.push(key);
  }
  for (let at = 0; at < parts.length; at += keysAtOnce)
    await store.deleteAll(parts.slice(at, at + keysAtOnce), signal);
}

async function deleteBelow(
  store: RemoveFilesDeps['store'],
  prefix: string,
  signal: AbortSignal,
  before: (keys: readonly string[]) => Promise<void> = async () => {},
): Promise<void> {
  let keys: string[] = [];
  const flush = async (): Promise<void> => {
    await before(keys);
    const left = keys.length === 0 ? [] : await store.deleteAll(keys, signal);
    if (left.length > 0) throw new Error(`${left.length} objects of a deleted account were not deleted`);
    keys = [];
  };
  for await (const { key } of store.list(prefix, signal)) {
    keys.push(key);
    if (keys.length === keysAtOnce) await flush();
  }
  await flush();
}
