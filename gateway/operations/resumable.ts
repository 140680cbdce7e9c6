import { randomUUID } from 'node:crypto';
import { ApiError } from '#kernel/errors/api-error.ts';
import { invalidHeader, payloadTooLarge } from '#kernel/errors/catalogue.ts';
import { uuidV5 } from '#kernel/ids/uuid-v5.ts';
import type { Handler, HttpRequest, HttpResponse } from '#server/http/http-types.ts';
import { readProjectSlug } from '#server/http/project-slug.ts';
import { withLifetime } from '../access/file-lifetime.ts';
import { assertFits, type UploadAccess, verifiedType } from '../access/upload-access.ts';
import type { CloudFile } from '../catalogue/cloud-file.ts';
import { cloudFileJson } from '../files/cloud-file-json.ts';
import { draftFile, type FileDraft } from '../files/file-draft.ts';
import { propertiesOfQuery, readProperties } from '../files/sent-properties.ts';
import type { FolderPlaces } from '../folders/folder-places.ts';
import type { FileChecks } from '../quarantine/file-checks.ts';
import type { Chunk } from '../resumable/chunk-receiver.ts';
import {
  draftLimit,
  readDraftFile,
  readDraftLength,
  requirePartialType,
  speaksDraft,
} from '../resumable/draft-headers.ts';
import type { ResumableUploads, UploadReference } from '../resumable/resumable-uploads.ts';
import {
  readChunkCheck,
  readConcat,
  readCount,
  readLength,
  readMetadata,
  readReprDigest,
  requireChunkType,
  requireTus,
  tusVersion,
} from '../resumable/tus-headers.ts';
import type { Progress } from '../resumable/upload-ends.ts';
import { offsetOf, type UploadState } from '../resumable/upload-state.ts';

export interface ResumableDeps {
  readonly access: UploadAccess;
  readonly resumable: ResumableUploads;
  readonly places: FolderPlaces;
  /** Null: files are not scanned. */
  readonly checks: FileChecks | null;
  /** Address under which clients get the file. */
  readonly fileUrl: (file: CloudFile) => string;
}

const noStore = { 'cache-control': 'no-store' };
/** Name of a file whose client sends none. */
const unnamed = 'file';

/**
 * POST /_f_/{project_slug}/resumable: https://tus.io/protocols/resumable-upload#creation, and the same in the draft
 * Resumable Uploads for HTTP.
 */
export function createUploadOperation(deps: ResumableDeps): Handler {
  const { access, resumable, places } = deps;
  return inProtocol(deps, async (request, isDraft) => {
    const projectSlug = readProjectSlug(request);
    const concat = isDraft ? undefined : readConcat(request, projectSlug);
    const { metadata, sent } = readFileSent(request, isDraft);
    const reprDigest = readReprDigest(request);
    const properties = { metadata, ...(reprDigest && { reprDigest }) };
    const isFinal = typeof concat === 'object';
    const { length, isLast } = isDraft
      ? readDraftLength(request, 0)
      : { length: isFinal ? null : readLength(request), isLast: false };
    const first = isFinal ? null : firstChunk(request, length, { isDraft, most: resumable.maxUploadBytes });
    const chunk = first && { ...first, isLast };
    const grant = await access.begin(request, projectSlug);
    const { userId: ownerId, maxBytes, link, bound } = grant;
    if (link !== undefined && concat !== undefined)
      throw invalidHeader(['The header Upload-Concat needs a token: a link allows no partial uploads']);
    if (bound !== undefined && concat !== undefined)
      throw invalidHeader(['The header Upload-Concat is not for uploads under rules']);
    // the same parts give the same id, so that a repeated request continues the file
    const id = isFinal ? uuidV5(ownerId, sent.fileName, ...concat) : randomUUID();
    const { deploymentId } = resumable;
    const owner = bound?.user ?? undefined;
    const place = { ownerId, projectSlug, fileName: sent.fileName, bound };
    // joining the same parts again gives the file that is there
    const placed = isFinal
      ? await places.inFolder(sent, place, request.signal)
      : await places.place(sent, place, request.signal);
    const file = draftFile(withLifetime(grant, { ...sent, ...placed }), {
      ...{ id, deploymentId, ownerId, owner, projectSlug },
    });
    if (isFinal) {
      const joined = await resumable.concatenate(file, concat, properties, request.signal);
      return answer(201, await settled(deps, joined), deps, { location: addressOf(file) });
    }
    assertFits(grant, file, Math.max(length ?? 0, chunk?.body.contentLength ?? 0), length ?? undefined);
    const verified = verifiedType(grant);
    const limits = {
      ...((link || bound) && { maxBytes }),
      ...(bound && { bound: true as const }),
      ...(verified !== undefined && { verifiedType: verified }),
    };
    const more = { length, ...(concat && { concat }), ...limits };
    deps.checks?.assertTakes(length ?? 0);
    const created = await resumable.create(file, { ...properties, ...more }, request.signal, chunk);
    const progress = await settled(deps, created);
    const location = addressOf(file) + (await access.addressQuery(grant, file.name));
    const offset = chunk === null ? {} : { 'upload-offset': `${offsetAfter(progress)}` };
    return answer(201, progress, deps, { location, ...offset });
  });
}

/** Name and type of the file as sent. */
function readFileSent(request: HttpRequest, isDraft: boolean) {
  const metadata = request.header('upload-metadata') ?? '';
  const pairs = readMetadata(metadata);
  const { fileName, contentType } = isDraft ? readDraftFile(request) : {};
  const sent = {
    fileName: pairs.get('filename') || pairs.get('name') || fileName || unnamed,
    contentType: pairs.get('filetype') || pairs.get('type') || contentType,
    ...propertiesOfQuery(request),
    ...readProperties((property) => pairs.get(property)),
  };
  return { metadata, sent };
}

function addressOf({ projectSlug, name }: Pick<FileDraft, 'projectSlug' | 'name'>): string {
  return `/_f_/${projectSlug}/resumable/${name}`;
}

/** Null: the request has no bytes. */
function firstChunk(
  request: HttpRequest,
  length: number | null,
  { isDraft, most }: { isDraft: boolean; most: number },
): Chunk | null {
  const { body } = request;
  const limit = Math.min(length ?? most, most);
  if (Math.max(length ?? 0, body.contentLength ?? 0) > limit) throw payloadTooLarge(limit, 'The upload');
  if (body.contentLength === 0) return null;
  // in the draft, the Content-Type describes the file
  if (!isDraft) requireChunkType(request);
  return { body, check: readChunkCheck(request) };
}

/** PATCH /_f_/{project_slug}/resumable/{name} */
export function appendOperation(deps: ResumableDeps): Handler {
  const { resumable } = deps;
  return inProtocol(deps, async (request, isDraft) => {
    if (isDraft) requirePartialType(request);
    else requireChunkType(request);
    const offset = readCount(request, 'Upload-Offset');
    if (offset === undefined) throw invalidHeader(['The header Upload-Offset is missing']);
    const { length, isLast } = isDraft
      ? readDraftLength(request, offset)
      : { length: readCount(request, 'Upload-Length') ?? null, isLast: false };
    const { maxUploadBytes } = resumable;
    const end = offset + (request.body.contentLength ?? 0);
    if (Math.max(length ?? 0, end) > maxUploadBytes) throw payloadTooLarge(maxUploadBytes, 'The upload');
    const check = readChunkCheck(request);
    const reprDigest = readReprDigest(request);
    const upload = await readUploadReference(deps, request);
    const { body, signal } = request;
    const chunk = { body, check, isLast };
    const progress = await settled(
      deps,
      await resumable.append(upload, { offset, length, reprDigest, signal, ...chunk }),
    );
    const headers = { 'upload-offset': `${offsetAfter(progress)}` };
    const isAnswered = progress.file !== null && (isDraft || wantsFile(request));
    return answer(isAnswered ? 200 : 204, progress, deps, headers);
  });
}

/** HEAD /_f_/{project_slug}/resumable/{name}: the offset of the upload. */
export function uploadOffsetOperation(deps: ResumableDeps): Handler {
  const { resumable } = deps;
  return inProtocol(deps, async (request, isDraft) => {
    const progress = await resumable.find(await readUploadReference(deps, request), request.signal);
    const headers = progress.file === null ? stateHeaders(progress.state) : fileHeaders(progress.file);
    return answer(isDraft ? 204 : 200, progress, deps, headers);
  });
}

/** GET /_f_/{project_slug}/resumable/{name}: the file of a complete upload. */
export function uploadStateOperation(deps: ResumableDeps): Handler {
  const { resumable } = deps;
  const offset = uploadOffsetOperation(deps);
  return async (request) => {
    if (request.method === 'HEAD') return offset(request);
    if (request.header('tus-resumable') !== undefined) requireTus(request);
    const file = await resumable.fileOf(await readUploadReference(deps, request), request.signal);
    return answer(200, { file }, deps, {});
  };
}

/** DELETE /_f_/{project_slug}/resumable/{name} */
export function dropUploadOperation(deps: ResumableDeps): Handler {
  const { resumable } = deps;
  return inProtocol(deps, async (request) => {
    await resumable.drop(await readUploadReference(deps, request), request.signal);
    return { status: 204, headers: noStore };
  });
}

function stateHeaders(state: UploadState): Record<string, string> {
  const { file, length, metadata, concat, parts = [] } = state;
  const addresses = parts.map((name) => addressOf({ ...file, name }));
  return {
    // "SHOULD NOT contain the Upload-Offset header unless the concatenation has been successfully finished"
    ...(concat !== 'final' && { 'upload-offset': `${offsetOf(state)}` }),
    ...(length === null ? { 'upload-defer-length': '1' } : { 'upload-length': `${length}` }),
    ...(metadata !== '' && { 'upload-metadata': metadata }),
    ...(concat && { 'upload-concat': concat === 'final' ? `final;${addresses.join(' ')}` : concat }),
  };
}

/** Headers of a complete upload, whose state was removed. */
function fileHeaders({ size, originalName, contentType }: CloudFile): Record<string, string> {
  const metadata = `filename ${base64(originalName)},filetype ${base64(contentType)}`;
  return { 'upload-offset': `${size}`, 'upload-length': `${size}`, 'upload-metadata': metadata };
}

/** POST /_f_/{project_slug}/resumable/{name}: https://tus.io/protocols/resumable-upload#x-http-method-override */
export function overriddenOperation(deps: ResumableDeps): Handler {
  const handlers = new Map([
    ['PATCH', appendOperation(deps)],
    ['HEAD', uploadOffsetOperation(deps)],
    ['DELETE', dropUploadOperation(deps)],
  ]);
  return inProtocol(deps, async (request) => {
    // tus_client of Rust sends `Patch`
    const handler = handlers.get(request.header('x-http-method-override')?.toUpperCase() ?? '');
    if (handler === undefined)
      throw invalidHeader([
        `The header X-HTTP-Method-Override should be ${[...handlers.keys()].join(' or ')}`,
      ]);
    return handler(request);
  });
}

/** Throws 404, as for a missing one, for an upload that rules do not leave to the sender. */
async function readUploadReference(
  { access, resumable }: Pick<ResumableDeps, 'access' | 'resumable'>,
  request: HttpRequest,
): Promise<UploadReference> {
  const projectSlug = readProjectSlug(request);
  const { name = '' } = request.params;
  const { userId: ownerId, bound } = await access.senderOfUpload(request, projectSlug, name);
  const upload = { ownerId, projectSlug, name };
  if (bound !== undefined) await resumable.assertMayContinue(upload, bound, request.signal);
  return upload;
}

/**
 * "The Server MUST acknowledge successful PATCH requests with the 204 No Content status". The file is for clients that name
 * its type, or prefer it (RFC 7240 section 4.2).
 */
function wantsFile(request: HttpRequest): boolean {
  const accept = request.header('accept') ?? '';
  const prefer = request.header('prefer') ?? '';
  return /\bapplication\/json\b/i.test(accept) || /\breturn *= *"?representation\b/i.test(prefer);
}

function offsetAfter(progress: Progress): number {
  return progress.file === null ? offsetOf(progress.state) : progress.file.size;
}

/** Waits a little for the scanner's verdict on a complete upload. Throws 422 if something was found. */
async function settled({ checks }: Pick<ResumableDeps, 'checks'>, progress: Progress): Promise<Progress> {
  return checks === null || progress.file === null ? progress : { file: await checks.settle(progress.file) };
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

const jsonType = { 'content-type': 'application/json; charset=utf-8' };

/** Answers with the file once the upload is complete; a 204 has only headers. */
function answer(
  status: number,
  progress: Progress,
  { resumable, fileUrl }: Pick<ResumableDeps, 'resumable' | 'fileUrl'>,
  more: Readonly<Record<string, string>>,
): HttpResponse {
  const { file } = progress;
  const headers = { ...noStore, 'upload-complete': file === null ? '?0' : '?1', ...more };
  if (file === null) {
    const expires = resumable.expiryOf(progress.state).toUTCString();
    return { status, headers: { 'upload-expires': expires, ...headers } };
  }
  if (status === 204) return { status, headers };
  const body = JSON.stringify(cloudFileJson(file, fileUrl(file)));
  return { status, headers: { ...jsonType, ...headers }, body };
}

/**
 * Answers in the protocol of the request. In tus: "The Tus-Resumable header MUST be included in every request and
 * response".
 */
function inProtocol(
  { resumable }: ResumableDeps,
  handler: (request: HttpRequest, isDraft: boolean) => Promise<HttpResponse>,
): Handler {
  const tus: Readonly<Record<string, string>> = { 'tus-resumable': tusVersion };
  return async (request) => {
    const isDraft = speaksDraft(request);
    const always = isDraft ? draftLimit(resumable.maxUploadBytes) : tus;
    try {
      if (!isDraft) requireTus(request);
      const response = await handler(request, isDraft);
      return { ...response, headers: { ...always, ...response.headers } };
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const { code, message, problems, headers, cause } = error;
      throw new ApiError(code, message, { problems, headers: { ...always, ...headers }, cause });
    }
  };
}
