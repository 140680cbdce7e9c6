import type { BoundSender } from '#catalogue/file-rules/file-rules.ts';
import type { Projects } from '#catalogue/projects.ts';
import type { UsageCounts } from '#catalogue/usage-counts.ts';
import { fileRefused } from '#kernel/errors/catalogue.ts';
import { visibleError } from '#kernel/errors/render-error.ts';
import { createSharedDeadline } from '#kernel/limits/deadline.ts';
import type { Log } from '#kernel/log/log.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import type { RunningUploads } from '#process/lifecycle/workers/running-uploads.ts';
import type { HttpRequest, HttpResponse } from '#server/http/http-types.ts';
import { replayedHeader } from '#server/http/idempotency-key.ts';
import { assertMayStore } from '../access/bound-files.ts';
import type { CountedFile, Quota } from '../access/storage-quota.ts';
import { isSame, type RepeatedUpload } from '../access/upload-keys.ts';
import type { CloudFile, HiddenState } from '../catalogue/cloud-file.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';
import { cloudFileJson } from '../files/cloud-file-json.ts';
import { type FileDraft, fileOfDraft } from '../files/file-draft.ts';
import type { InspectedDraft, InspectedFile } from '../files/inspected-draft.ts';
import type { Replacement } from '../folders/folder-places.ts';
import type { MediaSizes } from '../inspect/sizes.ts';
import type { FileChecks } from '../quarantine/file-checks.ts';
import type { ReceivedObject } from '../receive/receive-body.ts';
import type { OnCleanup } from './track-upload.ts';

/** Time limit for inserting the row, or else for removing the object. Milliseconds. */
const commitTimeout = 30_000;
const commitDeadline = createSharedDeadline(commitTimeout);

export interface StoreFileDeps {
  readonly projects: Pick<Projects, 'ensure'>;
  readonly cloudFiles: Pick<CloudFiles, 'announce' | 'insert'>;
  readonly store: Pick<ObjectStore, 'delete'>;
  /** Null: files are not scanned. */
  readonly checks: FileChecks | null;
  readonly quota: Quota;
  readonly usage: Pick<UsageCounts, 'add'>;
  /** Address under which clients get the file. */
  readonly fileUrl: (file: CloudFile) => string;
  readonly uploads: RunningUploads;
  readonly log: Log;
}

interface ReceivedUpload {
  readonly received: ReceivedObject;
  /** With the type of its bytes. */
  readonly draft: FileDraft;
  readonly sizes: MediaSizes;
  readonly onCleanup: OnCleanup;
  /** Null: the request has no `Idempotency-Key` and is not a copy. */
  readonly keyed: RepeatedUpload | null;
  /** Rules bind it. */
  readonly bound: BoundSender | undefined;
  /** For a copy; absent: now. */
  readonly createdAt?: Date | undefined;
  /** Of a PUT; absent: the file replaces none. */
  readonly replacement?: Replacement | undefined;
}

/** The file by its bytes. Throws 403 when they are of another type, and then removes them. */
export async function inspected(
  inspection: InspectedDraft,
  { head, writer, release }: ReceivedObject,
  onCleanup: OnCleanup,
): Promise<InspectedFile> {
  try {
    return await inspection.ended(head);
  } catch (error) {
    onCleanup(writer.abort().then(release));
    throw error;
  }
}

/**
 * Makes a file of an object whose bytes have all arrived, or answers with the file of an earlier request. An object that
 * gets no row is removed.
 */
export async function storeFile(
  deps: StoreFileDeps,
  request: HttpRequest,
  upload: ReceivedUpload,
): Promise<HttpResponse> {
  const { keyed, bound, received } = upload;
  if (bound !== undefined) assertMayStore(bound, upload);
  const earlier = keyed === null ? null : await findEarlier(keyed, upload, request.signal);
  if (earlier?.state === 'refused') throw fileRefused();
  if (earlier !== null) return answer(earlier, deps.fileUrl(earlier), replayedHeader);
  const { scanned } = received;
  const state = scanned && stateOf(deps, upload);
  const stored = await storeNew(deps, request, upload, state);
  const file = scanned && deps.checks ? await deps.checks.settled(stored, scanned) : stored;
  return answer(file, deps.fileUrl(file));
}

/** What the scanner's outcome makes of a new file. Throws 413 or 503, and drops the object, for one that is not stored. */
function stateOf(
  { checks }: Pick<StoreFileDeps, 'checks'>,
  { received: { scanned, writer, release }, onCleanup }: ReceivedUpload,
): HiddenState | undefined {
  try {
    return scanned && checks?.stateOf(scanned);
  } catch (error) {
    onCleanup(writer.abort().then(release));
    throw error;
  }
}

async function storeNew(
  deps: StoreFileDeps,
  request: HttpRequest,
  upload: ReceivedUpload,
  state: HiddenState | undefined,
): Promise<CloudFile> {
  const { draft, sizes, received, createdAt = new Date(), replacement } = upload;
  const rowIsOver = deps.cloudFiles.announce();
  let counted: CountedFile | undefined;
  let stored = false;
  try {
    counted = await completeObject(deps, request, upload);
    const { size, crc32, sha256 } = received;
    const { width, height, duration } = sizes;
    const file = fileOfDraft(draft, { size, crc32, sha256, width, height, duration, state }, createdAt);
    await storeRow(deps, request, file, { replacement, isCopy: upload.createdAt !== undefined });
    stored = true;
    // a file that waits for the scanner leaves its path to the one before: the janitor removes that later
    if (state === undefined) await replacement?.finish();
    else await replacement?.release();
    deps.usage.add(file.ownerId, file.projectSlug, { files: 1, bytesStored: size });
    return file;
  } finally {
    rowIsOver();
    counted?.(stored);
  }
}

/** The file of an earlier request with the same key or name. This upload must match it, and is then dropped. */
async function findEarlier(
  keyed: RepeatedUpload,
  { draft, received: { size, crc32, writer, release }, onCleanup }: ReceivedUpload,
  signal: AbortSignal,
): Promise<CloudFile | null> {
  let first = false;
  try {
    const earlier = await keyed.earlier(signal);
    first = earlier === null;
    if (earlier !== null && !isSame(earlier, { ...draft, size, crc32 })) throw keyed.isAnother();
    return earlier;
  } finally {
    if (!first) onCleanup(writer.abort().then(release));
  }
}

/**
 * Makes the object visible, creates its project, and counts it against its owner's quota. A client that disconnects
 * before this leaves nothing.
 */
async function completeObject(
  { projects, quota }: StoreFileDeps,
  { signal }: HttpRequest,
  { received, draft, onCleanup }: ReceivedUpload,
): Promise<CountedFile> {
  const { writer, last, size, release } = received;
  let counted: CountedFile | undefined;
  try {
    await projects.ensure(draft.ownerId, draft.projectSlug, signal);
    counted = await quota.claim(draft.ownerId, size, signal);
    // rejects when the signal is aborted
    await writer.complete(last);
    release();
    return counted;
  } catch (error) {
    counted?.(false);
    // the store may read the memory until the abort ends
    onCleanup(writer.abort().then(release));
    throw error;
  }
}

/**
 * Inserts the row, or else removes the object. It ignores the request's signal: an aborted insert may still succeed, so
 * a closed connection could leave a row without an object.
 */
async function storeRow(
  { cloudFiles, store, uploads, log }: StoreFileDeps,
  request: HttpRequest,
  file: CloudFile,
  { replacement, isCopy }: { readonly replacement: Replacement | undefined; readonly isCopy: boolean },
): Promise<void> {
  try {
    await cloudFiles.insert(file, commitDeadline(), { isCopy, mayTake: replacement?.take });
  } catch (cause) {
    await replacement?.release();
    // the answer does not wait for the removal, but the upload is under way until it ends
    uploads.begin(file, file.objectKey);
    store
      .delete(file.objectKey, AbortSignal.timeout(commitTimeout))
      .catch((error: unknown) => {
        log.error({ requestId: request.id, objectKey: file.objectKey, err: error }, 'an object has no row');
      })
      .finally(() => uploads.end(file));
    throw visibleError(cause);
  }
}

function answer(file: CloudFile, s3Link: string, more: Readonly<Record<string, string>> = {}): HttpResponse {
  return {
    status: 200,
    headers: { 'content-type': 'application/json; charset=utf-8', ...more },
    body: JSON.stringify(cloudFileJson(file, s3Link)),
  };
}
