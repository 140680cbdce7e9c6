import type { ErrorCode } from '#kernel/errors/error-codes.ts';
import { bytes, string } from '#kernel/json/schema.ts';
import type { Handler } from '#server/http/http-types.ts';
import { keyErrors, keyParameter, replayedHeaders } from '#server/http/idempotency-key.ts';
import {
  type ApiOperation,
  accountErrors,
  headerParameter,
  jsonContent,
  queryParameter,
} from '#server/openapi/api-operation.ts';
import { curl, keeping } from '#server/openapi/curl.ts';
import { cloudFile } from '../files/cloud-file-json.ts';

/** An operation as its file defines it: handler and description. The table of operations has its address. */
export interface OperationDefinition<Deps> extends Omit<ApiOperation, 'id' | 'tag'> {
  readonly handler: (deps: Deps) => Handler;
}

export const fileName = {
  name: { description: 'The `name` of a CloudFile', schema: { type: 'string', minLength: 1 } },
} as const;

/** For requests with a link instead of a token. */
export const linkParameter = queryParameter('link', 'Instead of a token: the value from an upload link');

/** Checksums of a file: headers of its part, headers of the request, or fields of the form. */
export const checksums = {
  'Content-MD5': { description: 'MD5 in base64; a file that does not match is refused', schema: string },
  'x-checksum-crc32': { description: 'Four bytes in base64, or eight hexadecimal digits', schema: string },
  'Content-Digest': { description: 'RFC 9530: sha-256 and sha-512 are checked', schema: string },
  'Repr-Digest': { description: 'Like Content-Digest', schema: string },
} as const;

/** Parameters of all uploads in one request. */
export const sendingParameters = [
  linkParameter,
  ...Object.entries(checksums).map(([name, { description }]) => headerParameter(name, description)),
  keyParameter,
];

/** The first is for generators that don't understand ranges of media types. */
export const anyFile = { 'application/octet-stream': { schema: bytes }, '*/*': { schema: bytes } };

/** Errors of all uploads. */
export const storingErrors: readonly ErrorCode[] = [
  ...accountErrors,
  'invalid_slug',
  'too_many_projects',
  'quota_exceeded',
  'request_timeout',
  'payload_too_large',
  'unavailable',
];

/** Errors of all uploads in one request. */
export const sendingErrors: readonly ErrorCode[] = [
  ...storingErrors,
  ...keyErrors,
  'idempotency_key_in_use',
  'wrong_content_type',
  'invalid_multipart',
  'chunks_unsupported',
  'checksum_mismatch',
  'link_refused',
  'file_refused',
];

/** The answer to all uploads in one request. */
export function storedAnswer(description: string): ApiOperation['answers'] {
  return { 200: { description, headers: replayedHeaders, content: jsonContent(cloudFile) } };
}

export function uploadSample(base: string): string {
  const url = `${base}/_f_/demo/upload`;
  return `echo hello > hello.txt\n${curl({ url, more: [`-F 'file=@hello.txt'`] })}`;
}

/** A shell sample that uploads a file and keeps its name in NAME. */
export function nameOfUpload(base: string): string {
  const [make, ...send] = uploadSample(base).split('\n');
  return `${make}\n${keeping('NAME', 'name', send.join('\n'))}\n`;
}
