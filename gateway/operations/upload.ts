import { randomUUID } from 'node:crypto';
import type { Projects } from '#catalogue/projects.ts';
import type { UsageCounts } from '#catalogue/usage-counts.ts';
import { chunksUnsupported, payloadTooLarge, unsupportedCoding } from '#kernel/errors/catalogue.ts';
import { visibleError } from '#kernel/errors/render-error.ts';
import { bytes, string } from '#kernel/json/schema.ts';
import { createSharedDeadline } from '#kernel/limits/deadline.ts';
import type { Log } from '#kernel/log/log.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import type { RunningUploads } from '#process/lifecycle/workers/running-uploads.ts';
import { declaredCoding } from '#server/http/content-coding.ts';
import type { Handler, HttpRequest, HttpResponse } from '#server/http/http-types.ts';
import { replayedHeader } from '#server/http/idempotency-key.ts';
import type { CountedFile, Quota } from '../access/storage-quota.ts';
import { mustFit, type UploadAccess, type UploadGrant } from '../access/upload-access.ts';
import { isSame, type RepeatedUpload, type UploadKeys } from '../access/upload-keys.ts';
import type { CloudFile } from '../catalogue/cloud-file.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';
import type { Digests } from '../digest/file-digests.ts';
import { cloudFileJson } from '../files/cloud-file-json.ts';
import { draftFile, type FileDraft } from '../files/file-draft.ts';
import { objectDescription } from '../files/object-description.ts';
import type { UploadMemory } from '../memory/upload-memory.ts';
import { readBoundary } from '../multipart/boundary.ts';
import { type ChecksumName, checksumNames, digestNames, FileChecksums } from '../multipart/file-checksums.ts';
import { type FilePart, receiveFile } from '../multipart/receive-file.ts';
import type { ReceivedObject } from '../receive/receive-body.ts';
import {
  checksums,
  type OperationDefinition,
  readProjectSlug,
  sendingErrors,
  sendingParameters,
  storedAnswer,
  uploadSample,
} from './operation.ts';

/** Most bytes of a form beside its file: boundaries, headers, other fields. */
export const formOverheadBytes = 1024 * 1024;
/** Headers of a form that are about its file, and not about the form. */
const formHeaders = ['content-md5', 'x-checksum-crc32'] as const;
/** Time limit for storing a file's row, or for removing its object again. Milliseconds. */
const commitTimeout = 30_000;
const commitDeadline = createSharedDeadline(commitTimeout);

export interface UploadDeps {
  /** Begins the key of every object. */
  readonly deploymentId: string;
  readonly access: UploadAccess;
  readonly projects: Pick<Projects, 'ensure'>;
  readonly cloudFiles: Pick<CloudFiles, 'announce' | 'findByName' | 'insert'>;
  readonly store: Pick<ObjectStore, 'create' | 'delete' | 'partBytes' | 'concurrentParts' | 'shortParts'>;
  readonly memory: UploadMemory;
  readonly digests: Digests;
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
    'The file is durable when the answer comes. Other parts of the form are ignored. The project is created if it does not exist.',
  access: 'optional',
  needs: { grant: 'files:write', touches: 'beside spaces' },
  parameters: sendingParameters,
  body: {
    description: 'A form with the file, and its file name, in the part `file`',
    content: {
      'multipart/form-data': {
        schema: {
          type: 'object',
          required: ['file'],
          properties: { 'Content-MD5': string, 'x-checksum-crc32': string, file: bytes },
        },
        partHeaders: { file: checksums },
      },
    },
  },
  answers: storedAnswer('The stored file'),
  errors: [...sendingErrors, 'missing_file_part', 'unsupported_media_type'],
  sample: uploadSample,
  handler: (deps) => deps.access.counting(uploadOperation(deps)),
};

/** POST /_f_/{project_slug}/upload (interface.md section 4.1). */
export function uploadOperation(deps: UploadDeps): Handler {
  return cleaningUp(deps, (request, behind) => storeUpload(deps, request, behind));
}

/** Takes the cleanup that continues after a failure, and never rejects. */
export type Behind = (cleanup: Promise<void>) => void;

/** Counts an upload as running until its cleanups have ended. */
export function cleaningUp(
  { uploads }: Pick<UploadDeps, 'uploads'>,
  store: (request: HttpRequest, behind: Behind) => Promise<HttpResponse>,
): Handler {
  return async (request) => {
    // no answer waits for the cleanups after a failure; until they end the upload is not over
    const cleanups: Promise<void>[] = [];
    try {
      return await store(request, (cleanup) => cleanups.push(cleanup));
    } finally {
      if (cleanups.length === 0) uploads.end(request);
      else void Promise.allSettled(cleanups).then(() => uploads.end(request));
    }
  };
}

async function storeUpload(deps: UploadDeps, request: HttpRequest, behind: Behind): Promise<HttpResponse> {
  const projectSlug = readProjectSlug(request);
  const boundary = readBoundary(request.header('content-type'));
  if (request.header('content-range') !== undefined) throw chunksUnsupported('the header Content-Range');
  if (declaredCoding(request) !== null) throw unsupportedCoding('');
  const checksums = announcedChecksums(request, formHeaders);
  const bodyChecksums = announcedChecksums(request, digestNames);
  const maxBodyBytes = deps.maxUploadBytes + formOverheadBytes;
  if ((request.body.contentLength ?? 0) > maxBodyBytes) throw payloadTooLarge(deps.maxUploadBytes, 'File');
  // nothing of the body is read before the token is known to be good
  const grant = await deps.access.begin(request, projectSlug);
  const form = { grant, projectSlug, boundary, checksums, bodyChecksums, maxBodyBytes, behind };
  return deps.keys.use(request, grant, (keyed) => storeForm(deps, request, { keyed, ...form }));
}

interface Form {
  readonly grant: UploadGrant;
  readonly projectSlug: string;
  readonly boundary: string;
  readonly checksums: FileChecksums;
  readonly bodyChecksums: FileChecksums;
  readonly maxBodyBytes: number;
  readonly behind: Behind;
  readonly keyed: RepeatedUpload | null;
}

async function storeForm(deps: UploadDeps, request: HttpRequest, form: Form): Promise<HttpResponse> {
  const { grant, projectSlug, boundary, checksums, bodyChecksums, maxBodyBytes, behind, keyed } = form;
  const { userId } = grant;
  const leastBytes = Math.max(0, (request.body.contentLength ?? 0) - formOverheadBytes);
  // a file that the key stored before is counted already
  if (keyed === null) await deps.quota.check(userId, leastBytes, request.signal);

  const id = keyed?.id ?? randomUUID();
  const { deploymentId } = deps;
  const describe = (part: FilePart): FileDraft =>
    draftFile(part, { id, deploymentId, ownerId: userId, projectSlug });
  const received = await receiveFile({
    boundary,
    checksums,
    bodyChecksums,
    body: request.body,
    rules: deps.store,
    memory: deps.memory,
    digests: deps.digests,
    account: userId,
    maxFileBytes: grant.maxBytes,
    maxBodyBytes,
    signal: request.signal,
    behind,
    begin: async (part, signal) => {
      const draft = describe(part);
      mustFit(grant, draft.contentType, leastBytes);
      deps.uploads.begin(request, draft.objectKey);
      return deps.store.create(draft.objectKey, objectDescription(draft), signal);
    },
  });
  return storeFile(deps, request, { received, draft: describe(received.part), behind, keyed });
}

interface Received {
  readonly received: ReceivedObject;
  readonly draft: FileDraft;
  readonly behind: Behind;
  /** Null: the request has no `Idempotency-Key`, and is no copy. */
  readonly keyed: RepeatedUpload | null;
  /** Of a copy; absent: now. */
  readonly createdAt?: Date | undefined;
}

/** Makes a file of an object whose bytes have all come. */
export async function storeFile(
  deps: UploadDeps,
  request: HttpRequest,
  upload: Received,
): Promise<HttpResponse> {
  const { draft, received, keyed, createdAt = new Date() } = upload;
  const earlier = keyed === null ? null : await storedBefore(keyed, upload, request.signal);
  if (earlier !== null) return answer(earlier, deps.fileUrl(earlier), replayedHeader);
  const rowIsOver = deps.cloudFiles.announce();
  let counted: CountedFile | undefined;
  let stored = false;
  try {
    counted = await completeObject(deps, request, upload);
    const { size, crc32, sha256 } = received;
    const file: CloudFile = { size, crc32, sha256, createdAt, updatedAt: createdAt, ...draft };
    await storeRow(deps, request, file);
    stored = true;
    deps.usage.add(file.ownerId, file.projectSlug, { files: 1, bytesStored: size });
    return answer(file, deps.fileUrl(file));
  } finally {
    rowIsOver();
    counted?.(stored);
  }
}

/** The file of an earlier request with the same key or name. This one must be the same; its bytes are dropped. */
async function storedBefore(
  keyed: RepeatedUpload,
  { draft, received: { size, crc32, writer, release }, behind }: Received,
  signal: AbortSignal,
): Promise<CloudFile | null> {
  let first = false;
  try {
    const earlier = await keyed.earlier(signal);
    first = earlier === null;
    if (earlier !== null && !isSame(earlier, { ...draft, size, crc32 })) throw keyed.isAnother();
    return earlier;
  } finally {
    if (!first) behind(writer.abort().then(release));
  }
}

/** Checksums in the headers of a request. */
export function announcedChecksums(
  request: HttpRequest,
  names: readonly ChecksumName[] = checksumNames,
): FileChecksums {
  const checksums = new FileChecksums();
  for (const name of names) {
    const text = request.header(name);
    if (text !== undefined) checksums.expect(name, text);
  }
  return checksums;
}

/**
 * Makes the object visible, in a project that exists, and counts it to its owner's quota. Until then a client that has
 * gone away leaves nothing.
 */
async function completeObject(
  { projects, quota }: UploadDeps,
  { signal }: HttpRequest,
  { received, draft, behind }: Received,
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
    // until then the store may still read the memory
    behind(writer.abort().then(release));
    throw error;
  }
}

/**
 * Stores the row, or removes the object again. The request's own signal has no say here: an insert that is given up
 * may still succeed, and would leave a row without an object for no reason but a closed connection.
 */
async function storeRow(
  { cloudFiles, store, uploads, log }: UploadDeps,
  request: HttpRequest,
  file: CloudFile,
): Promise<void> {
  try {
    await cloudFiles.insert(file, commitDeadline());
  } catch (cause) {
    // the upload counts as open until the removal ends; the answer does not wait for it
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
