import { readFileKey } from '#objects/file-key.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import { keyPrefixOf } from '../access/upload-keys.ts';
import type { HiddenState } from '../catalogue/cloud-file.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';
import { placeOfFile } from '../catalogue/folder-index.ts';
import type { Digests } from '../digest/file-digests.ts';
import { fileOfDraft } from '../files/file-draft.ts';
import { InspectedDraft } from '../files/inspected-draft.ts';
import { readObjectMetadata } from '../files/object-metadata.ts';
import { inspectObject } from '../inspect/inspect-object.ts';
import { isPlanned } from '../plans/direct-plan.ts';
import type { PlanStore } from '../plans/plan-store.ts';
import type { ResumableUploads } from '../resumable/resumable-uploads.ts';

export interface AdoptDeps {
  readonly store: Pick<ObjectStore, 'head' | 'delete' | 'deleteRemains' | 'read'>;
  readonly cloudFiles: Pick<CloudFiles, 'insert' | 'findByPrefixes' | 'namesWithRow' | 'currentInFolder'>;
  readonly digests: Pick<Digests, 'of'>;
  /** Of a file that nobody has scanned. */
  readonly newState?: HiddenState | undefined;
  /** Knows uploads that rules bind. */
  readonly resumable: Pick<ResumableUploads, 'isRefused'>;
  /** Knows objects that clients sent by themselves. */
  readonly plans: Pick<PlanStore, 'decidesOn'>;
}

/**
 * Inserts the row that an object's metadata describes. If the metadata describes no row, or another object, the object
 * is left as it is: it may be an only copy.
 */
export async function adoptObject(
  { store, cloudFiles, digests, newState, resumable, plans }: AdoptDeps,
  key: string,
  { dryRun, signal }: { dryRun: boolean; signal: AbortSignal },
): Promise<'row made' | 'object left' | 'nothing there'> {
  // before it is looked for: nobody has acknowledged it
  if (await plans.decidesOn(key, signal)) return 'nothing there';
  const stored = await store.head(key, signal);
  if (stored === null) {
    if (!dryRun) await store.deleteRemains?.(key, signal);
    return 'nothing there';
  }
  const metadata = readObjectMetadata(stored.metadata);
  const parts = readFileKey(key);
  if (
    metadata === null ||
    metadata.ownerId !== parts?.ownerId ||
    metadata.projectSlug !== parts.projectSlug
  ) {
    return 'object left';
  }
  const prefix = keyPrefixOf(metadata);
  if (prefix !== null && (await cloudFiles.findByPrefixes([prefix], signal)).length > 0) {
    // this upload was never acknowledged, and a later one with its Idempotency-Key stored the file
    if (!dryRun) await store.delete(key, signal);
    return 'nothing there';
  }
  const place = placeOfFile(metadata);
  if (place !== null && (await cloudFiles.currentInFolder(place, signal)) !== null) {
    // it was replaced, or was never acknowledged because its path was taken
    if (!dryRun) await store.delete(key, signal);
    return 'nothing there';
  }
  // a gateway that ends between the refusal and the removal leaves the object
  if (!dryRun && (await resumable.isRefused(key, signal))) return 'nothing there';
  const sha256 = dryRun ? undefined : await digests.of(store.read(key, null, signal));
  const { contentType, size, lastModified } = stored;
  const inspection = new InspectedDraft(
    { ...metadata, name: parts.name, objectKey: key, contentType },
    undefined,
  );
  const bytes = await inspectObject(store, { key, size }, inspection.asks, signal);
  const { file: draft, sizes } = inspection.of(bytes);
  // objects have no checksum, and the bytes are not read for one
  const file = fileOfDraft(draft, { size, crc32: 0, sha256, ...sizes, state: newState }, lastModified);
  // the row may have been inserted during a long read, or just before its plan was removed
  if (
    (sha256 !== undefined || isPlanned(parts.name)) &&
    (await cloudFiles.namesWithRow([parts.name], signal)).size > 0
  )
    return 'nothing there';
  if (!dryRun) await cloudFiles.insert(file, signal);
  return 'row made';
}
