import type { ErrorCode } from '#kernel/errors/error-codes.ts';
import { bytes, count, string } from '#kernel/json/schema.ts';
import {
  type ApiParameter,
  accountErrors,
  header,
  headerParameter,
  jsonAnswer,
  jsonContent,
  noStore,
  queryParameter,
} from '#server/openapi/api-operation.ts';
import { curl } from '#server/openapi/curl.ts';
import { cloudFile } from '../files/cloud-file-json.ts';
import { propertyParameters } from '../files/sent-properties.ts';
import { partialType } from '../resumable/draft-headers.ts';
import { chunkType, tusVersion } from '../resumable/tus-headers.ts';
import { linkParameter, type OperationDefinition, storingErrors } from './operation.ts';
import {
  appendOperation,
  createUploadOperation,
  dropUploadOperation,
  overriddenOperation,
  type ResumableDeps,
  uploadStateOperation,
} from './resumable.ts';

const uploadParameter = queryParameter(
  'upload',
  'Instead of a token: authorizes an upload that was begun with a link',
);

const tusHeader: ApiParameter = headerParameter(
  'Tus-Resumable',
  'The version of tus. Absent: the request uses the draft Resumable Uploads for HTTP',
  { type: 'string', enum: [tusVersion] },
);
const completeHeader: ApiParameter = headerParameter(
  'Upload-Complete',
  'Draft only: ?1 when the upload ends with this body, else ?0',
  { type: 'string', enum: ['?0', '?1'] },
);
const preferHeader: ApiParameter = headerParameter(
  'Prefer',
  'return=representation: the answer to the last bytes is the CloudFile, as with `Accept: application/json`',
);
const overrides = { type: 'string', enum: ['PATCH', 'HEAD', 'DELETE'] } as const;
const uploadName = {
  name: { description: 'The last segment of the upload’s address', schema: { type: 'string', minLength: 1 } },
} as const;
const tusAnswer = { 'Tus-Resumable': { description: tusVersion, schema: string }, ...noStore };
const complete = { 'Upload-Complete': header('?1 when all bytes have arrived, else ?0') };
const expires = {
  'Upload-Expires': { description: 'When the upload expires, unless more bytes come', schema: string },
};
const offsetAnswer = { 'Upload-Offset': { description: 'Number of stored bytes', schema: string } };
const tusErrors: readonly ErrorCode[] = [
  ...accountErrors,
  'invalid_slug',
  'link_refused',
  'unsupported_version',
];
const chunkErrors: readonly ErrorCode[] = [
  ...storingErrors,
  'unsupported_version',
  'invalid_header',
  'unsupported_media_type',
  'chunk_checksum_mismatch',
  'checksum_mismatch',
  'invalid_multipart',
  'link_refused',
  'not_found',
  'upload_conflict',
  'upload_expired',
  'file_refused',
];
const chunkParameters: readonly ApiParameter[] = [
  tusHeader,
  completeHeader,
  headerParameter('Content-Digest', 'RFC 9530: sha-256 or sha-512 of the body'),
  headerParameter('Repr-Digest', 'RFC 9530: sha-256 or sha-512 of the whole file'),
  headerParameter('Upload-Checksum', 'sha1, sha256 or crc32, and the checksum of the body in base64'),
];
const chunkBody = { [chunkType]: { schema: bytes }, [partialType]: { schema: bytes } };

function createSample(base: string): string {
  const more = [`-H 'Tus-Resumable: ${tusVersion}' -H 'Upload-Length: 6' -D headers.txt`];
  return curl({ method: 'POST', url: `${base}/_f_/demo/resumable`, more });
}

function atUpload(base: string, method: string, more: readonly string[] = []): string {
  const url = `${base}$UPLOAD`;
  const take = `UPLOAD=$(sed -n 's/^location: *//p' headers.txt | tr -d '\\r')`;
  return `${createSample(base)}\n${take}\n${curl({ method, url, more: [`-H 'Tus-Resumable: ${tusVersion}'`, ...more] })}`;
}

export const createUpload: OperationDefinition<ResumableDeps> = {
  summary: 'Begin a resumable upload',
  description:
    'tus 1.0 (https://tus.io/protocols/resumable-upload) or the draft Resumable Uploads for HTTP, with the first bytes in the body, if any. Answers the address of the upload and, once all bytes have arrived, the CloudFile.',
  access: 'optional',
  needs: { grant: 'files:write', touches: 'beside spaces' },
  parameters: [
    linkParameter,
    ...chunkParameters,
    headerParameter('Upload-Length', 'Total size in bytes', count),
    headerParameter('Upload-Defer-Length', '1: the length is sent later'),
    headerParameter(
      'Upload-Concat',
      '`partial`, or `final;` and the addresses of the partial uploads to join',
    ),
    headerParameter(
      'Upload-Metadata',
      'Names with values in base64: `filename`, `filetype`, `folder`, `path` and `expiresIn` describe the file',
    ),
    ...propertyParameters,
  ],
  answers: {
    201: {
      description: 'The upload has begun; with the CloudFile if it is complete',
      headers: {
        ...tusAnswer,
        ...complete,
        ...expires,
        ...offsetAnswer,
        Location: header('Address of the upload'),
      },
      content: jsonContent(cloudFile),
    },
  },
  errors: [...chunkErrors, 'invalid_options', 'too_many_uploads', 'file_exists'],
  sample: createSample,
  handler: (deps) => deps.access.refundOnFailure(createUploadOperation(deps)),
};

export const uploadState: OperationDefinition<ResumableDeps> = {
  summary: 'Get the file of a complete upload',
  description: '404 while the upload is incomplete.',
  access: 'optional',
  needs: { grant: 'files:write', touches: 'beside spaces' },
  pathParameters: uploadName,
  parameters: [uploadParameter],
  answers: { 200: jsonAnswer('The stored file', cloudFile) },
  errors: [
    ...tusErrors,
    'not_found',
    'upload_expired',
    'checksum_mismatch',
    'too_many_projects',
    'quota_exceeded',
    'file_exists',
  ],
  head: { id: 'checkUpload', summary: 'Get the offset of an upload', statuses: [200, 204] },
  handler: uploadStateOperation,
};

export const append: OperationDefinition<ResumableDeps> = {
  summary: 'Send more bytes of an upload',
  description:
    'Acknowledged bytes survive any failure of a server. The bytes of an interrupted request count as far as they arrived, unless it has a checksum. A new request to an upload ends the previous one.',
  access: 'optional',
  needs: { grant: 'files:write', touches: 'beside spaces' },
  pathParameters: uploadName,
  parameters: [
    uploadParameter,
    ...chunkParameters,
    { ...headerParameter('Upload-Offset', 'Offset of the first byte', count), required: true },
    headerParameter('Upload-Length', 'Total size in bytes, if it was deferred', count),
    preferHeader,
  ],
  body: { description: 'The bytes', content: chunkBody },
  answers: {
    200: {
      description: 'The upload is complete, and the client asked for the CloudFile; in the draft always',
      headers: { ...tusAnswer, ...complete, ...offsetAnswer },
      content: jsonContent(cloudFile),
    },
    204: {
      description: 'The bytes are stored',
      headers: { ...tusAnswer, ...complete, ...expires, ...offsetAnswer },
    },
  },
  errors: [...chunkErrors, 'final_upload', 'file_exists'],
  sample: (base) =>
    atUpload(base, 'PATCH', [
      `-H 'Upload-Offset: 0' -H 'Content-Type: ${chunkType}'`,
      `--data-binary 'hello!'`,
    ]),
  handler: appendOperation,
};

export const dropUpload: OperationDefinition<ResumableDeps> = {
  summary: 'Drop an incomplete upload',
  access: 'optional',
  needs: { grant: 'files:write', touches: 'beside spaces' },
  pathParameters: uploadName,
  parameters: [uploadParameter, tusHeader],
  answers: { 204: { description: 'The upload is dropped', headers: tusAnswer } },
  errors: [...tusErrors, 'not_found', 'upload_conflict'],
  sample: (base) => atUpload(base, 'DELETE'),
  handler: dropUploadOperation,
};

export const overridden: OperationDefinition<ResumableDeps> = {
  ...append,
  summary: 'PATCH, HEAD or DELETE an upload by POST',
  description: 'For clients that can only POST. The header X-HTTP-Method-Override of tus names the method.',
  parameters: [
    { ...headerParameter('X-HTTP-Method-Override', 'PATCH, HEAD or DELETE', overrides), required: true },
    uploadParameter,
    ...chunkParameters,
    headerParameter('Upload-Offset', 'For PATCH: offset of the first byte', count),
    headerParameter('Upload-Length', 'Total size in bytes, if it was deferred', count),
    preferHeader,
  ],
  answers: {
    200: { ...append.answers[200], description: 'The answer of the method' },
    204: { ...append.answers[204], description: 'The answer of the method' },
  },
  sample: (base) =>
    atUpload(base, 'POST', [
      `-H 'X-HTTP-Method-Override: PATCH' -H 'Upload-Offset: 0' -H 'Content-Type: ${chunkType}'`,
      `--data-binary 'hello!'`,
    ]),
  handler: overriddenOperation,
};
