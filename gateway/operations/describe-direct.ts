import type { ErrorCode } from '#kernel/errors/error-codes.ts';
import {
  arrayOf,
  bytes,
  count,
  dateTime,
  exactObject,
  named,
  type Schema,
  string,
} from '#kernel/json/schema.ts';
import {
  accountErrors,
  bodyErrors,
  doorErrors,
  header,
  headerParameter,
  jsonAnswer,
  jsonContent,
  noStore,
  queryParameter,
} from '#server/openapi/api-operation.ts';
import { curl, keeping } from '#server/openapi/curl.ts';
import { mostParts, planSchema, sentPartSchema } from '../direct/plan-request.ts';
import { cloudFile } from '../files/cloud-file-json.ts';
import {
  completeDirectOperation,
  type DirectDeps,
  dropDirectOperation,
  partsAtOnce,
  planOperation,
  planStateOperation,
} from './direct.ts';
import { type DirectPartDeps, directPartOperation } from './direct-part.ts';
import { linkParameter, type OperationDefinition, storingErrors } from './operation.ts';

const planId = {
  name: { description: 'The `id` of the plan', schema: { type: 'string', minLength: 1 } },
} as const;
const uploadParameter = queryParameter(
  'upload',
  'Instead of a token: authorizes an upload that was planned with a link',
);
const uploadErrors: readonly ErrorCode[] = [
  ...accountErrors,
  'invalid_slug',
  'link_refused',
  'not_found',
  'upload_expired',
  'unavailable',
];

const id: Schema = { ...string, description: 'The `name` of the future file' };
const location: Schema = { ...string, description: 'Address of the upload, from the root of the server' };
const part = exactObject({
  number: { ...count, description: 'From 1' },
  offset: { ...count, description: 'Where it begins in the file' },
  size: { ...count, description: 'Bytes' },
  method: { type: 'string', enum: ['PUT'] },
  url: { type: 'string', format: 'uri' },
  headers: {
    type: 'object',
    additionalProperties: string,
    description: 'To be sent exactly so, beside the Content-Length of the part',
  },
});
const parts = { ...arrayOf(part), description: `At most ${partsAtOnce}` };
const uploaded = {
  ...arrayOf(exactObject({ number: count, size: count, etag: string })),
  description: 'The parts that the object store has, if they were asked for',
};
const planFields = {
  id,
  location,
  size: { ...count, description: 'Bytes of the file' },
  partBytes: { ...count, description: 'Bytes of every part but the last' },
  partCount: count,
  expiresAt: { ...dateTime, description: 'Until then the upload has to be complete' },
};
const addresses = { addressesExpireAt: dateTime, parts };

const plan = named(
  'DirectUpload',
  exactObject({ ...planFields, state: { type: 'string', enum: ['open'] }, ...addresses }),
);
const planState = named(
  'DirectUploadState',
  exactObject(
    {
      ...planFields,
      state: { type: 'string', enum: ['open', 'complete'] },
      uploaded,
      ...addresses,
      file: cloudFile,
    },
    {
      optional: [
        'size',
        'partBytes',
        'partCount',
        'expiresAt',
        'uploaded',
        'addressesExpireAt',
        'parts',
        'file',
      ],
    },
  ),
);

function planning(base: string, size: number): string {
  return curl({ url: `${base}/_f_/demo/direct`, body: { name: 'hello.txt', size } });
}

function planSample(base: string, size = 6): string {
  return keeping('UPLOAD', 'location', planning(base, size));
}

const at = (base: string) => `${base}$UPLOAD`;

export const planDirect: OperationDefinition<DirectDeps> = {
  summary: 'Plan an upload straight to the object store',
  description: `The answer has an address for each part (the first ${partsAtOnce}), to which the client sends the bytes by PUT; the gateway sees none of them. Without S3 the addresses lead to the gateway. The size counts against quotas from now on.`,
  access: 'optional',
  needs: { grant: 'files:write', touches: 'beside spaces' },
  parameters: [linkParameter],
  body: {
    description: 'What is going to be sent',
    content: jsonContent(
      { type: 'object', required: ['name', 'size'], properties: planSchema, additionalProperties: false },
      { name: 'film.mp4', size: 734003200, contentType: 'video/mp4' },
    ),
  },
  answers: {
    201: {
      description: 'The plan, with addresses that are good for 15 minutes',
      headers: { ...noStore, Location: header('Address of the upload') },
      content: jsonContent(plan),
    },
  },
  errors: [
    ...storingErrors,
    ...bodyErrors,
    'invalid_multipart',
    'invalid_options',
    'link_refused',
    'too_many_uploads',
    'not_found',
    'file_exists',
  ],
  sample: (base) => planning(base, 6),
  handler: (deps) => deps.access.refundOnFailure(planOperation(deps)),
};

export const directState: OperationDefinition<DirectDeps> = {
  summary: 'Get a planned upload',
  description: 'Its file, once it is complete. Addresses that have expired are made anew here.',
  access: 'optional',
  needs: { grant: 'files:write', touches: 'beside spaces' },
  pathParameters: planId,
  parameters: [
    uploadParameter,
    queryParameter(
      'parts',
      `Numbers of the parts whose addresses are wanted, such as 101-200: ${partsAtOnce}`,
    ),
    queryParameter('uploaded', 'true: lists the parts that have arrived', {
      type: 'string',
      enum: ['true', 'false'],
    }),
  ],
  answers: { 200: jsonAnswer('The plan, or the file', planState) },
  errors: [...uploadErrors, 'invalid_options'],
  sample: (base) => `${planSample(base)}\n${curl({ url: `${at(base)}?parts=1` })}`,
  handler: planStateOperation,
};

export const completeDirect: OperationDefinition<DirectDeps> = {
  summary: 'Complete a planned upload',
  description:
    'Makes a file of what the object store has, if that is what was planned: all parts, of the right sizes, and with the digests as far as the store can prove them, which `verified` says. The same completion again answers the same CloudFile.',
  access: 'optional',
  needs: { grant: 'files:write', touches: 'beside spaces' },
  pathParameters: planId,
  parameters: [
    uploadParameter,
    queryParameter('verify', 'bytes: the gateway reads the object once, and checks the digests of the plan', {
      type: 'string',
      enum: ['bytes'],
    }),
  ],
  body: {
    description: 'The parts as the object store answered them. Absent: its list of them decides',
    optional: true,
    content: jsonContent({
      type: 'object',
      properties: {
        parts: {
          type: 'array',
          maxItems: mostParts,
          items: {
            type: 'object',
            required: ['number', 'etag'],
            properties: sentPartSchema,
          },
        },
      },
      additionalProperties: false,
    }),
  },
  answers: { 200: jsonAnswer('The stored file', cloudFile) },
  errors: [
    ...uploadErrors,
    ...bodyErrors,
    'invalid_options',
    'upload_conflict',
    'file_exists',
    'file_refused',
    'checksum_mismatch',
    'too_many_projects',
    'quota_exceeded',
  ],
  sample: (base) => `${planSample(base, 0)}\n${curl({ method: 'POST', url: `${at(base)}/complete` })}`,
  handler: completeDirectOperation,
};

export const dropDirect: OperationDefinition<DirectDeps> = {
  summary: 'Drop a planned upload',
  description: 'What was sent is removed. A complete upload is a file, and is deleted as one.',
  access: 'optional',
  needs: { grant: 'files:write', touches: 'beside spaces' },
  pathParameters: planId,
  parameters: [uploadParameter],
  answers: { 204: { description: 'The upload is dropped', headers: noStore } },
  errors: [...uploadErrors, 'upload_conflict'],
  sample: (base) => `${planSample(base)}\n${curl({ method: 'DELETE', url: at(base) })}`,
  handler: dropDirectOperation,
};

export const directPart: OperationDefinition<DirectPartDeps> = {
  summary: 'Send a part of a planned upload',
  description:
    'Only by the addresses of a plan, and only without S3: otherwise they lead to the bucket. The same part may be sent again until the upload is complete.',
  access: 'none',
  needs: null,
  pathParameters: { ...planId, number: { description: 'The part', schema: { type: 'string' } } },
  parameters: [
    headerParameter('Content-MD5', 'As planned, in base64'),
    ...['owner', 'size', 'expires', 'signature'].map((name) => queryParameter(name, 'Of the address')),
  ],
  body: { description: 'The bytes of the part', content: { 'application/octet-stream': { schema: bytes } } },
  answers: {
    200: { description: 'The part is stored', headers: { ...noStore, ETag: header('Of the part') } },
  },
  errors: [
    ...doorErrors,
    'internal_error',
    'overloaded',
    'unavailable',
    'storage_full',
    'invalid_slug',
    'invalid_header',
    'invalid_multipart',
    'checksum_mismatch',
    'request_timeout',
    'link_refused',
    'not_found',
    'upload_expired',
  ],
  sample: (base) =>
    `echo hello > hello.txt\n${keeping('URL', 'url', planning(base, 6))}\ncurl -sS -i -T hello.txt "$URL"`,
  handler: directPartOperation,
};
