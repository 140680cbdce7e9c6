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

const uploadParameter = queryParameter('upload', 'Of an upload that a link began, instead of a token');

const tusHeader: ApiParameter = headerParameter(
  'Tus-Resumable',
  'The version of tus. Absent: the request speaks the draft Resumable Uploads for HTTP',
  { type: 'string', enum: [tusVersion] },
);
const completeHeader: ApiParameter = headerParameter(
  'Upload-Complete',
  'Of the draft: ?1 when the upload ends where the body does, else ?0',
  { type: 'string', enum: ['?0', '?1'] },
);
const overrides = { type: 'string', enum: ['PATCH', 'HEAD', 'DELETE'] } as const;
const uploadName = {
  name: { description: 'The last segment of the upload’s address', schema: { type: 'string', minLength: 1 } },
} as const;
const tusAnswer = { 'Tus-Resumable': { description: tusVersion, schema: string }, ...noStore };
const complete = { 'Upload-Complete': header('?1 when all bytes have come, else ?0') };
const expires = { 'Upload-Expires': { description: 'When it ends, unless more bytes come', schema: string } };
const offsetAnswer = { 'Upload-Offset': { description: 'Bytes that are stored', schema: string } };
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
];
const chunkParameters: readonly ApiParameter[] = [
  tusHeader,
  completeHeader,
  headerParameter('Content-Digest', 'RFC 9530: sha-256 or sha-512 of the body'),
  headerParameter('Repr-Digest', 'RFC 9530: sha-256 or sha-512 of the whole file'),
  headerParameter('Upload-Checksum', 'sha1, sha256 or crc32 of the body, and the checksum in base64'),
];
const chunkBody = { [chunkType]: { schema: bytes }, [partialType]: { schema: bytes } };

function beginning(base: string): string {
  const more = [`-H 'Tus-Resumable: ${tusVersion}' -H 'Upload-Length: 6' -D headers.txt`];
  return curl({ method: 'POST', url: `${base}/_f_/demo/resumable`, more });
}

function atUpload(base: string, method: string, more: readonly string[] = []): string {
  const url = `${base}$UPLOAD`;
  const take = `UPLOAD=$(sed -n 's/^location: *//p' headers.txt | tr -d '\\r')`;
  return `${beginning(base)}\n${take}\n${curl({ method, url, more: [`-H 'Tus-Resumable: ${tusVersion}'`, ...more] })}`;
}

export const createUpload: OperationDefinition<ResumableDeps> = {
  summary: 'Begin an upload that can go on',
  description:
    'tus 1.0 (https://tus.io/protocols/resumable-upload) or the draft Resumable Uploads for HTTP, with the first bytes in the body if there are any. Answers the address of the upload; when all bytes have come, the CloudFile too.',
  access: 'optional',
  needs: { grant: 'files:write', touches: 'beside spaces' },
  parameters: [
    linkParameter,
    ...chunkParameters,
    headerParameter('Upload-Length', 'Bytes in all', count),
    headerParameter('Upload-Defer-Length', '1: the length follows later'),
    headerParameter(
      'Upload-Concat',
      '`partial`, or `final;` and the addresses of partial uploads that become one file',
    ),
    headerParameter(
      'Upload-Metadata',
      'Names with values in base64: `filename` and `filetype` are those of the file',
    ),
  ],
  answers: {
    201: {
      description: 'It is begun; with the CloudFile if it is complete',
      headers: {
        ...tusAnswer,
        ...complete,
        ...expires,
        ...offsetAnswer,
        Location: header('Of the upload'),
      },
      content: jsonContent(cloudFile),
    },
  },
  errors: [...chunkErrors, 'too_many_uploads'],
  sample: beginning,
  handler: (deps) => deps.access.counting(createUploadOperation(deps)),
};

export const uploadState: OperationDefinition<ResumableDeps> = {
  summary: 'The file that an upload became',
  description: '404 while it is not complete.',
  access: 'optional',
  needs: { grant: 'files:write', touches: 'beside spaces' },
  pathParameters: uploadName,
  parameters: [uploadParameter],
  answers: { 200: jsonAnswer('What is known of the file', cloudFile) },
  errors: [
    ...tusErrors,
    'not_found',
    'upload_expired',
    'checksum_mismatch',
    'too_many_projects',
    'quota_exceeded',
  ],
  head: { summary: 'How many bytes of an upload are stored', statuses: [200, 204] },
  handler: uploadStateOperation,
};

export const append: OperationDefinition<ResumableDeps> = {
  summary: 'Send more bytes of an upload',
  description:
    'Bytes that are acknowledged survive whatever happens to a server. A request that breaks off counts as far as it came, unless it has a checksum. The newest request to an upload ends the one before.',
  access: 'optional',
  needs: { grant: 'files:write', touches: 'beside spaces' },
  pathParameters: uploadName,
  parameters: [
    uploadParameter,
    ...chunkParameters,
    { ...headerParameter('Upload-Offset', 'Where the bytes begin', count), required: true },
    headerParameter('Upload-Length', 'Bytes in all, if that was deferred', count),
  ],
  body: { description: 'The bytes', content: chunkBody },
  answers: {
    200: {
      description: 'The upload is complete',
      headers: { ...tusAnswer, ...complete, ...offsetAnswer },
      content: jsonContent(cloudFile),
    },
    204: {
      description: 'The bytes are stored',
      headers: { ...tusAnswer, ...complete, ...expires, ...offsetAnswer },
    },
  },
  errors: [...chunkErrors, 'final_upload'],
  sample: (base) =>
    atUpload(base, 'PATCH', [
      `-H 'Upload-Offset: 0' -H 'Content-Type: ${chunkType}'`,
      `--data-binary 'hello!'`,
    ]),
  handler: appendOperation,
};

export const dropUpload: OperationDefinition<ResumableDeps> = {
  summary: 'Drop an upload that is not complete',
  access: 'optional',
  needs: { grant: 'files:write', touches: 'beside spaces' },
  pathParameters: uploadName,
  parameters: [uploadParameter, tusHeader],
  answers: { 204: { description: 'It is gone', headers: tusAnswer } },
  errors: [...tusErrors, 'not_found', 'upload_conflict'],
  sample: (base) => atUpload(base, 'DELETE'),
  handler: dropUploadOperation,
};

export const overridden: OperationDefinition<ResumableDeps> = {
  ...append,
  summary: 'PATCH, HEAD or DELETE an upload from where only POST is possible',
  description: 'The header X-HTTP-Method-Override of tus says which.',
  parameters: [
    { ...headerParameter('X-HTTP-Method-Override', 'PATCH, HEAD or DELETE', overrides), required: true },
    uploadParameter,
    ...chunkParameters,
    headerParameter('Upload-Offset', 'For PATCH: where the bytes begin', count),
    headerParameter('Upload-Length', 'Bytes in all, if that was deferred', count),
  ],
  answers: {
    200: { ...append.answers[200], description: 'As the method answers' },
    204: { ...append.answers[204], description: 'As the method answers' },
  },
  sample: (base) =>
    atUpload(base, 'POST', [
      `-H 'X-HTTP-Method-Override: PATCH' -H 'Upload-Offset: 0' -H 'Content-Type: ${chunkType}'`,
      `--data-binary 'hello!'`,
    ]),
  handler: overriddenOperation,
};
