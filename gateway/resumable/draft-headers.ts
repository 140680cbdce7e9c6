import { invalidHeader, unsupportedMediaType } from '#kernel/errors/catalogue.ts';
import type { HttpRequest } from '#server/http/http-types.ts';
import { parseParameters } from '../multipart/header-parameters.ts';
import { readFileName } from '../multipart/part-head.ts';
import { readCount } from './tus-headers.ts';

/** https://datatracker.ietf.org/doc/draft-ietf-httpbis-resumable-upload/, which may change until it is an RFC. */
export const partialType = 'application/partial-upload';
/** Interop versions whose drafts had no such type. */
const untyped = ['3', '4', '5'];

/** Header of answers, and of OPTIONS. */
export function draftLimit(maxUploadBytes: number): Readonly<Record<string, string>> {
  return { 'upload-limit': `max-size=${maxUploadBytes}` };
}

type Request = Pick<HttpRequest, 'method' | 'header' | 'body'>;

/** Whether a request uses the draft, not tus. */
export function speaksDraft(request: Pick<Request, 'method' | 'header'>): boolean {
  if (request.header('tus-resumable') !== undefined) return false;
  // "The request MUST NOT include an Upload-Offset, Upload-Complete or Upload-Length": no header marks it
  if (request.method === 'HEAD' || request.method === 'DELETE') return true;
  return ['upload-complete', 'upload-draft-interop-version'].some(
    (name) => request.header(name) !== undefined,
  );
}

/** The length of an upload, according to a request. */
export interface DraftLength {
  /** Null: not yet known. */
  readonly length: number | null;
  /** The upload ends with the body. */
  readonly isLast: boolean;
}

/** @param offset of the body in the upload */
export function readDraftLength(request: Request, offset: number): DraftLength {
  const complete = request.header('upload-complete')?.trim();
  if (complete !== '?1' && complete !== '?0')
    throw invalidHeader(['The header Upload-Complete should be ?1 or ?0']);
  const declared = readCount(request, 'Upload-Length');
  const { contentLength } = request.body;
  if (complete === '?0') return { length: declared ?? null, isLast: false };
  const end = contentLength === undefined ? undefined : offset + contentLength;
  if (declared !== undefined && end !== undefined && declared !== end)
    throw invalidHeader([`The header Upload-Length is ${declared}, but the last bytes end at ${end}`]);
  return { length: declared ?? end ?? null, isLast: declared === undefined && end === undefined };
}

/** Throws 415 for a chunk without the media type of chunks. */
export function requirePartialType(request: Pick<Request, 'header'>): void {
  const type = request.header('content-type')?.trim().toLowerCase();
  if (type === partialType || untyped.includes(request.header('upload-draft-interop-version') ?? '')) return;
  throw unsupportedMediaType(partialType);
}

/** Name and type of the file, from the headers that a form would have for its part. */
export function readDraftFile(request: Pick<Request, 'header'>): {
  readonly fileName: string | undefined;
  readonly contentType: string | undefined;
} {
  const contentType = request.header('content-type');
  const disposition = parseParameters(request.header('content-disposition') ?? 'attachment');
  if (disposition === null) throw invalidHeader(['The header Content-Disposition is malformed']);
  return {
    fileName: readFileName(disposition.parameters),
    contentType: contentType?.trim().toLowerCase() === partialType ? undefined : contentType,
  };
}
