import { randomUUID } from 'node:crypto';
import type { Authenticate } from '../../common/auth/authenticate.ts';
import { ApiError } from '../../common/errors/api-error.ts';
import { invalidHeader, payloadTooLarge } from '../../common/errors/catalogue.ts';
import type { Handler, HttpRequest, HttpResponse } from '../../common/http/http-types.ts';
import type { CloudFile } from '../../common/metadata/cloud-files.ts';
import { uuidV5 } from '../../common/metadata/uuid-v5.ts';
import { cloudFileJson } from '../cloud-file-json.ts';
import { draftFile, type FileDraft } from '../file-draft.ts';
import type { ResumableUploads, Whose } from '../resumable/resumable-uploads.ts';
import type { Chunk } from '../resumable/sitting.ts';
import {
  readChunkCheck,
  readConcat,
  readCount,
  readLength,
  readMetadata,
  requireChunkType,
  requireTus,
  tusVersion,
} from '../resumable/tus-headers.ts';
import type { Progress } from '../resumable/upload-ends.ts';
import { offsetOf } from '../resumable/upload-state.ts';
import { readProjectSlug } from './upload.ts';

export interface ResumableDeps {
  readonly authenticate: Authenticate;
  readonly resumable: ResumableUploads;
  /** Address under which clients get the file. */
  readonly fileUrl: (file: CloudFile) => string;
}

const noStore = { 'cache-control': 'no-store' };
/** What an upload is called whose client tells no name. */
const unnamed = 'file';

/** POST /_f_/{project_slug}/resumable: https://tus.io/protocols/resumable-upload#creation */
export function createUploadOperation(deps: ResumableDeps): Handler {
  const { authenticate, resumable } = deps;
  return tus(async (request) => {
    const projectSlug = readProjectSlug(request);
    const concat = readConcat(request, projectSlug);
    const metadata = request.header('upload-metadata') ?? '';
    const known = readMetadata(metadata);
    const sent = {
      fileName: known.get('filename') || known.get('name') || unnamed,
      contentType: known.get('filetype') || known.get('type'),
    };
    const { deploymentId } = resumable;
    if (typeof concat === 'object') {
      const { userId: ownerId } = await authenticate(request);
      // a client that asks again goes on with the same file
      const id = uuidV5(ownerId, sent.fileName, ...concat);
      const file = draftFile(sent, { id, deploymentId, ownerId, projectSlug });
      const progress = await resumable.concatenate(file, concat, metadata, request.signal);
      return answer(201, progress, deps, { location: addressOf(file) });
    }
    const length = readLength(request);
    const chunk = firstChunk(request, length, resumable.maxUploadBytes);
    const { userId: ownerId } = await authenticate(request);
    const file = draftFile(sent, { id: randomUUID(), deploymentId, ownerId, projectSlug });
    const about = { length, metadata, ...(concat && { concat }) };
    const progress = await resumable.create(file, about, request.signal, chunk);
    const offset = chunk === null ? {} : { 'upload-offset': `${offsetAfter(progress)}` };
    return answer(201, progress, deps, { location: addressOf(file), ...offset });
  });
}

function addressOf({ projectSlug, name }: FileDraft): string {
  return `/_f_/${projectSlug}/resumable/${name}`;
}

/** Null: the request brings no bytes. */
function firstChunk(request: HttpRequest, length: number | null, maxUploadBytes: number): Chunk | null {
  const { body } = request;
  const most = Math.min(length ?? maxUploadBytes, maxUploadBytes);
  if (Math.max(length ?? 0, body.contentLength ?? 0) > most) throw payloadTooLarge(most, 'The upload');
  if (body.contentLength === 0) return null;
  requireChunkType(request);
  return { body, check: readChunkCheck(request) };
}

/** PATCH /_f_/{project_slug}/resumable/{name} */
export function appendOperation({ authenticate, resumable, fileUrl }: ResumableDeps): Handler {
  return tus(async (request) => {
    requireChunkType(request);
    const offset = readCount(request, 'Upload-Offset');
    if (offset === undefined) throw invalidHeader(['The header Upload-Offset is missing']);
    const length = readCount(request, 'Upload-Length');
    const { maxUploadBytes } = resumable;
    const end = offset + (request.body.contentLength ?? 0);
    if (Math.max(length ?? 0, end) > maxUploadBytes) throw payloadTooLarge(maxUploadBytes, 'The upload');
    const check = readChunkCheck(request);
    const whose = await whoseUpload(authenticate, request);
    const { body, signal } = request;
    const progress = await resumable.append(whose, { offset, length, body, check, signal });
    const headers = { 'upload-offset': `${offsetAfter(progress)}` };
    return answer(progress.file === null ? 204 : 200, progress, { resumable, fileUrl }, headers);
  });
}

/** HEAD /_f_/{project_slug}/resumable/{name} says where the upload is, and GET which file it became. */
export function uploadStateOperation({ authenticate, resumable, fileUrl }: ResumableDeps): Handler {
  const offset = tus(async (request) => {
    const progress = await resumable.find(await whoseUpload(authenticate, request), request.signal);
    const length = progress.file === null ? progress.state.length : progress.file.size;
    const metadata = progress.file === null ? progress.state.metadata : '';
    const headers = {
      'upload-offset': `${offsetAfter(progress)}`,
      ...(length === null ? { 'upload-defer-length': '1' } : { 'upload-length': `${length}` }),
      ...(metadata === '' ? {} : { 'upload-metadata': metadata }),
      ...(progress.file === null && progress.state.concat && { 'upload-concat': progress.state.concat }),
    };
    return answer(200, progress, { resumable, fileUrl }, headers);
  });
  return async (request) => {
    if (request.method === 'HEAD') return offset(request);
    if (request.header('tus-resumable') !== undefined) requireTus(request);
    const file = await resumable.fileOf(await whoseUpload(authenticate, request), request.signal);
    return answer(200, { file }, { resumable, fileUrl }, {});
  };
}

/** DELETE /_f_/{project_slug}/resumable/{name} */
export function dropUploadOperation({ authenticate, resumable }: ResumableDeps): Handler {
  return tus(async (request) => {
    await resumable.drop(await whoseUpload(authenticate, request), request.signal);
    return { status: 204, headers: noStore };
  });
}

async function whoseUpload(authenticate: Authenticate, request: HttpRequest): Promise<Whose> {
  const projectSlug = readProjectSlug(request);
  const { userId } = await authenticate(request);
  return { ownerId: userId, projectSlug, name: request.params.name ?? '' };
}

function offsetAfter(progress: Progress): number {
  return progress.file === null ? offsetOf(progress.state) : progress.file.size;
}

const jsonType = { 'content-type': 'application/json; charset=utf-8' };

/** With the file, once the upload is complete. */
function answer(
  status: number,
  progress: Progress,
  { resumable, fileUrl }: Pick<ResumableDeps, 'resumable' | 'fileUrl'>,
  headers: Readonly<Record<string, string>>,
): HttpResponse {
  if (progress.file !== null) {
    const body = JSON.stringify(cloudFileJson(progress.file, fileUrl(progress.file)));
    return { status, headers: { ...jsonType, ...noStore, ...headers }, body };
  }
  const expires = resumable.expiryOf(progress.state).toUTCString();
  return { status, headers: { ...noStore, 'upload-expires': expires, ...headers } };
}

/** "The Tus-Resumable header MUST be included in every request and response". */
function tus(handler: (request: HttpRequest) => Promise<HttpResponse>): Handler {
  const version = { 'tus-resumable': tusVersion };
  return async (request) => {
    try {
      requireTus(request);
      const response = await handler(request);
      return { ...response, headers: { ...version, ...response.headers } };
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const { code, status, message, problems, headers, cause } = error;
      throw new ApiError({ code, status, message, problems, headers: { ...version, ...headers }, cause });
    }
  };
}
