import type { ByteRange } from '#objects/object-store.ts';
import type { HttpRequest, HttpResponse, StreamBody } from '#server/http/http-types.ts';
import type { CloudFile } from '../catalogue/cloud-file.ts';
import { servingHeaders } from '../files/content-type-policy.ts';
import { parseRange } from './byte-range.ts';
import { assertPreconditions, isNotModified, rangeApplies, type Validators } from './conditional.ts';
import type { ServedFile } from './small-files.ts';

/** The bytes of a range; null: of the whole file. */
export type BytesOf = (range: ByteRange | null) => Uint8Array | StreamBody;

export function servedFile(
  file: CloudFile,
  { cacheControl, vary }: { readonly cacheControl: string; readonly vary?: string | undefined },
  { etag, lastModified }: Validators,
): ServedFile {
  const copyHeaders: Record<string, string> = {
    etag,
    'last-modified': lastModified.toUTCString(),
    'cache-control': cacheControl,
  };
  if (vary !== undefined) copyHeaders.vary = vary;
  const headers = {
    ...servingHeaders(file.contentType, file.originalName),
    ...copyHeaders,
    'accept-ranges': 'bytes',
    // RFC 9530 section 3: of the whole file, even if a range is sent
    ...(file.sha256 === undefined
      ? {}
      : { 'repr-digest': `sha-256=:${Buffer.from(file.sha256, 'hex').toString('base64')}:` }),
  };
  return { file, etag, lastModified, copyHeaders, headers };
}

/** Answers GET and HEAD. Throws 412 and 416. @param own headers of this reader; undefined: none */
export function answerFile(
  request: HttpRequest,
  served: ServedFile,
  own: Readonly<Record<string, string>> | undefined,
  bytes: BytesOf,
): HttpResponse {
  const { size } = served.file;
  const header = (name: string) => request.header(name);
  // RFC 9110 section 13.2.2: preconditions come before Range
  assertPreconditions(header, served, true);
  if (isNotModified(header, served)) return { status: 304, headers: { ...served.copyHeaders, ...own } };
  const range = readRange(request, size, rangeApplies(header('if-range'), served));
  const headers = own === undefined ? served.headers : { ...served.headers, ...own };
  if (range === null) return { status: 200, headers, body: bytes(null) };
  const contentRange = `bytes ${range.start}-${range.end}/${size}`;
  return { status: 206, headers: { ...headers, 'content-range': contentRange }, body: bytes(range) };
}

/** RFC 9110 section 14.2: Range only applies to GET. */
function readRange(request: HttpRequest, size: number, applies: boolean): ByteRange | null {
  return request.method === 'GET' && applies ? parseRange(request.header('range'), size) : null;
}
