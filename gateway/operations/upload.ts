import { randomUUID } from 'node:crypto';
import type { BoundSender } from '#catalogue/file-rules/file-rules.ts';
import type { Projects } from '#catalogue/projects.ts';
import type { UsageCounts } from '#catalogue/usage-counts.ts';
import {
  chunksUnsupported,
  fileRefused,
  payloadTooLarge,
  unsupportedCoding,
} from '#kernel/errors/catalogue.ts';
import { visibleError } from '#kernel/errors/render-error.ts';
import { bytes, string } from '#kernel/json/schema.ts';
import { createSharedDeadline } from '#kernel/limits/deadline.ts';
import type { Log } from '#kernel/log/log.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import type { RunningUploads } from '#process/lifecycle/workers/running-uploads.ts';
import { declaredCoding } from '#server/http/content-coding.ts';
import type { Handler, HttpRequest, HttpResponse } from '#server/http/http-types.ts';
import { replayedHeader } from '#server/http/idempotency-key.ts';
import { readProjectSlug } from '#server/http/project-slug.ts';
import { assertMayStore } from '../access/bound-files.ts';
import { withLifetime } from '../access/file-lifetime.ts';
import type { CountedFile, Quota } from '../access/storage-quota.ts';
import { assertFits, type UploadAccess, type UploadGrant, verifiedType } from '../access/upload-access.ts';
import { isSame, type RepeatedUpload, type UploadKeys } from '../access/upload-keys.ts';
import type { CloudFile, HiddenState } from '../catalogue/cloud-file.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';
import type { Digests } from '../digest/file-digests.ts';
import { cloudFileJson } from '../files/cloud-file-json.ts';
import { draftFile, type FileDraft, fileOfDraft } from '../files/file-draft.ts';
import { InspectedDraft, type InspectedFile } from '../files/inspected-draft.ts';
import {
  propertiesOfQuery,
  propertyNames,
  propertyParameters,
  readProperties,
  type SentProperties,
} from '../files/sent-properties.ts';
import type { FolderPlaces, Replacement } from '../folders/folder-places.ts';
import type { MediaSizes } from '../inspect/sizes.ts';
import type { UploadMemory } from '../memory/upload-memory.ts';
import { readBoundary } from '../multipart/boundary.ts';
import { announcedChecksums, digestNames, type FileChecksums } from '../multipart/file-checksums.ts';
import { type FilePart, receiveFile } from '../multipart/receive-file.ts';
import type { FileChecks } from '../quarantine/file-checks.ts';
import type { ReceivedObject } from '../receive/receive-body.ts';
import {
  checksums,
  type OperationDefinition,
  sendingErrors,
  sendingParameters,
  storedAnswer,
  uploadSample,
} from './operation.ts';

/** Most bytes of a form besides its file: boundaries, headers, other fields. */
export const formOverheadBytes = 1024 * 1024;
/** Headers of the request that describe the file, not the whole form. */
const formHeaders = ['content-md5', 'x-checksum-crc32'] as const;
/** Time limit for inserting the row, or else for removing the object. Milliseconds. */
const commitTimeout = 30_000;
const commitDeadline = createSharedDeadline(commitTimeout);

export interface UploadDeps {
  /** The first segment of every object key. */
  readonly deploymentId: string;
  readonly access: UploadAccess;
  readonly projects: Pick<Projects, 'ensure'>;
  readonly cloudFiles: Pick<CloudFiles, 'announce' | 'findByName' | 'insert'>;
  readonly places: FolderPlaces;
  readonly store: Pick<ObjectStore, 'create' | 'delete' | 'partBytes' | 'concurrentParts' | 'shortParts'>;
  readonly memory: UploadMemory;
  readonly digests: Digests;
  /** Null: files are not scanned. */
  readonly checks: FileChecks | null;
  readonly keys: UploadKeys;
  readonly maxUploadBytes: number;
  readonly quota: Quota;
  readonly usage: Pick<UsageCounts, 'add'>;
  /** Address under which clients get the file. */
  readonly fileUrl: (file: CloudFile) => string;
  readonly uploads: RunningUploads;
  readonly log: Log;
}

export const upload: OperationDefinition<UploadDeps> = {
  summary: 'Upload a file',
  description:
    'The file is durable once the request is answered. Other parts of the form are ignored. The project is created if it does not exist.',
  access: 'optional',
  needs: { grant: 'files:write', touches: 'beside spaces' },
  parameters: [...sendingParameters, ...propertyParameters],
  body: {
    description: 'A form with the file and its file name in the part `file`',
    content: {
      'multipart/form-data': {
        schema: {
          type: 'object',
          required: ['file'],
          properties: {
            ...{ 'Content-MD5': string, 'x-checksum-crc32': string },
            ...{ folder: string, path: string, expiresIn: string },
            file: bytes,
          },
        },
        partHeaders: { file: checksums },
      },
    },
  },
  answers: storedAnswer('The stored file'),
  errors: [
    ...sendingErrors,
    'invalid_options',
    'not_found',
    'file_exists',
    'missing_file_part',
    'unsupported_media_type',
  ],
  sample: uploadSample,
  handler: (deps) => deps.access.refundOnFailure(uploadOperation(deps)),
};

/** POST /_f_/{project_slug}/upload (interface.md section 4.1). */
export function uploadOperation(deps: UploadDeps): Handler {
  return trackUpload(deps, (request, onCleanup) => storeUpload(deps, request, onCleanup));
}

/** Gets the cleanup that continues after a failed request; it never rejects. */
export type OnCleanup = (cleanup: Promise<void>) => void;

/** Counts an upload as under way until its cleanups have ended. */
export function trackUpload(
  { uploads }: Pick<UploadDeps, 'uploads'>,
  store: (request: HttpRequest, onCleanup: OnCleanup) => Promise<HttpResponse>,
): Handler {
  return async (request) => {
    // the answer does not wait for cleanups after a failure, but the upload is under way until they end
    const cleanups: Promise<void>[] = [];
    try {
      return await store(request, (cleanup) => cleanups.push(cleanup));
    } finally {
      if (cleanups.length === 0) uploads.end(request);
      else void Promise.allSettled(cleanups).then(() => uploads.end(request));
    }
  };
}

async function storeUpload(
  deps: UploadDeps,
  request: HttpRequest,
  onCleanup: OnCleanup,
): Promise<HttpResponse> {
  const projectSlug = readProjectSlug(request);
  const boundary = readBoundary(request.header('content-type'));
  if (request.header('content-range') !== undefined) throw chunksUnsupported('the header Content-Range');
  if (declaredCoding(request) !== null) throw unsupportedCoding('');
  const checksums = announcedChecksums(request, formHeaders);
  const bodyChecksums = announcedChecksums(request, digestNames);
  const maxBodyBytes = deps.maxUploadBytes + formOverheadBytes;
  if ((request.body.contentLength ?? 0) > maxBodyBytes) throw payloadTooLarge(deps.maxUploadBytes, 'File');
  // the body is not read before the token has been checked
  const grant = await deps.access.begin(request, projectSlug);
  const form = { grant, projectSlug, boundary, checksums, bodyChecksums, maxBodyBytes, onCleanup };
  return deps.keys.use(request, grant, (keyed) => storeForm(deps, request, { keyed, ...form }));
}

interface FormUpload {
  readonly grant: UploadGrant;
  readonly projectSlug: string;
  readonly boundary: string;
  readonly checksums: FileChecksums;
  readonly bodyChecksums: FileChecksums;
  readonly maxBodyBytes: number;
  readonly onCleanup: OnCleanup;
  readonly keyed: RepeatedUpload | null;
}

async function storeForm(deps: UploadDeps, request: HttpRequest, form: FormUpload): Promise<HttpResponse> {
  const { grant, boundary, checksums, bodyChecksums, maxBodyBytes, onCleanup, keyed } = form;
  const { userId, bound } = grant;
  const leastBytes = Math.max(0, (request.body.contentLength ?? 0) - formOverheadBytes);
  // with a key the file may be stored, and counted, already
  if (keyed === null) await deps.quota.check(userId, leastBytes, request.signal);

  const id = keyed?.id ?? randomUUID();
  const sent = propertiesOfQuery(request);
  const found: { inspection?: InspectedDraft } = {};
  const received = await receiveFile({
    boundary,
    checksums,
    bodyChecksums,
    fields: propertyNames,
    body: request.body,
    rules: deps.store,
    memory: deps.memory,
    digests: deps.digests,
    scanner: deps.checks?.scanner,
    account: userId,
    maxFileBytes: grant.maxBytes,
    maxBodyBytes,
    signal: request.signal,
    onCleanup,
    begin: async (part, signal, head) => {
      const draft = await draftOfPart(deps, form, { part, sent, id, signal });
      assertFits(grant, draft, leastBytes);
      deps.checks?.assertTakes(leastBytes);
      deps.uploads.begin(request, draft.objectKey);
      const inspection = new InspectedDraft(draft, verifiedType(grant));
      found.inspection = inspection;
      return deps.store.create(draft.objectKey, await inspection.description(head), signal);
    },
  });
  const { file: draft, sizes } = await inspected(found.inspection as InspectedDraft, received, onCleanup);
  return storeFile(deps, request, { received, draft, sizes, onCleanup, keyed, bound });
}

/** @param args.sent the properties in the query */
async function draftOfPart(
  { places, deploymentId }: Pick<UploadDeps, 'places' | 'deploymentId'>,
  { grant, projectSlug, keyed }: FormUpload,
  args: {
    readonly part: FilePart;
    readonly sent: SentProperties;
    readonly id: string;
    readonly signal: AbortSignal;
  },
): Promise<FileDraft> {
  const { part, id, signal } = args;
  const { fileName, contentType, fields } = part;
  const { userId: ownerId, bound } = grant;
  let { sent } = args;
  if (fields.size > 0) sent = { ...sent, ...readProperties((name) => fields.get(name)) };
  if (sent.folder !== undefined) {
    const file = { ownerId, projectSlug, fileName, bound };
    // a repeated upload is at its path already
    sent = await (keyed === null ? places.place(sent, file, signal) : places.inFolder(sent, file, signal));
  }
  const described = withLifetime(grant, { ...sent, fileName, contentType });
  return draftFile(described, { id, deploymentId, ownerId, owner: bound?.user ?? undefined, projectSlug });
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

/** Makes a file of an object whose bytes have all arrived. */
export async function storeFile(
  deps: UploadDeps,
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
  { checks }: Pick<UploadDeps, 'checks'>,
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
  deps: UploadDeps,
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
  { projects, quota }: UploadDeps,
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
  { cloudFiles, store, uploads, log }: UploadDeps,
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
