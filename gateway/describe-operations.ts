import type { ErrorCode } from '../common/errors/error-codes.ts';
import { keyErrors, keyParameter, replayedHeaders } from '../common/http/idempotency-key.ts';
import { describeList, nextPage } from '../common/http/list-parameters.ts';
import {
  type ApiAnswer,
  type ApiHeader,
  type ApiOperation,
  accountErrors,
  bodyErrors,
  header,
  headerParameter,
  jsonAnswer,
  jsonContent,
  noStore,
  queryParameter,
} from '../common/openapi/api-operation.ts';
import { curl, keeping } from '../common/openapi/curl.ts';
import { arrayOf, bytes, count, dateTime, exactObject, named, string } from '../common/openapi/schema.ts';
import { cloudFile, storingErrors, tag } from './cloud-file-schema.ts';
import { linkParameter, uploadLinkDescription } from './describe-upload-link.ts';
import { mostNames } from './operations/delete-files.ts';
import { longestLife } from './operations/link.ts';
import { fileListParameters } from './operations/list-files.ts';
import { resumableDescriptions } from './resumable/describe-resumable.ts';

const filePage = named(
  'FilePage',
  exactObject(
    {
      files: arrayOf(cloudFile),
      next: nextPage,
      count: { ...count, description: 'How many match in all; there when it was asked for' },
    },
    { optional: ['count'] },
  ),
);

const deletions = named(
  'Deletions',
  exactObject({
    deleted: { ...count, description: 'How many were deleted' },
    failed: {
      type: 'array',
      items: exactObject({
        name: string,
        code: { type: 'string', enum: ['not_found', 'unavailable'] },
        message: string,
      }),
      description: 'Those that were not deleted',
    },
  }),
);

function upload(base: string): string {
  const url = `${base}/_f_/demo/upload`;
  return `echo hello > hello.txt\n${curl({ url, more: [`-F 'file=@hello.txt'`] })}`;
}

function nameOfUpload(base: string): string {
  const [make, ...send] = upload(base).split('\n');
  return `${make}\n${keeping('NAME', 'name', send.join('\n'))}\n`;
}

/** Of a file: headers of its part, headers of the request, or fields of the form. */
const checksums = {
  'Content-MD5': { description: 'Base64; a file with other bytes is refused', schema: string },
  'x-checksum-crc32': { description: 'Base64 of four bytes, or eight hexadecimal digits', schema: string },
  'Content-Digest': { description: 'RFC 9530: sha-256 and sha-512 are checked', schema: string },
  'Repr-Digest': { description: 'The same', schema: string },
} as const;

const versionHeaders = {
  ETag: header('Of the file, which never changes'),
  'Last-Modified': header('When it was uploaded'),
  'Cache-Control': header('Whether others may keep it'),
};

function fileAnswer(description: string, more: Readonly<Record<string, ApiHeader>> = {}): ApiAnswer {
  const served = {
    'Content-Disposition': header('inline for media that cannot run scripts, else attachment'),
    'Content-Security-Policy': header('Scripts in the file cannot run'),
    'X-Content-Type-Options': header('nosniff'),
    'Accept-Ranges': header('bytes'),
  };
  const headers = { ...versionHeaders, ...served, ...more };
  return { description, headers, content: { '*/*': { schema: bytes } } };
}

const fileName = {
  name: { description: 'The `name` of a CloudFile', schema: { type: 'string', minLength: 1 } },
} as const;

/** Of every way to send a file at once. */
const sendingParameters = [
  linkParameter,
  ...Object.entries(checksums).map(([name, { description }]) => headerParameter(name, description)),
  keyParameter,
];

/** Errors of every way to send a file at once. */
const sendingErrors: readonly ErrorCode[] = [
  ...storingErrors,
  ...keyErrors,
  'idempotency_key_in_use',
  'wrong_content_type',
  'invalid_multipart',
  'chunks_unsupported',
  'checksum_mismatch',
  'link_refused',
];

/** How the description of the API shows the operations of the gateway, by their names in its table. */
export const descriptions = {
  upload: {
    id: 'upload',
    tag,
    summary: 'Upload a file',
    description:
      'The file is durable when the answer comes. Other parts of the form are ignored. The project is created if it does not exist.',
    access: 'optional',
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
    answers: {
      200: { description: 'The stored file', headers: replayedHeaders, content: jsonContent(cloudFile) },
    },
    errors: [...sendingErrors, 'missing_file_part'],
    sample: upload,
  },
  putFile: {
    id: 'putFile',
    tag,
    summary: 'Upload a file as a plain body',
    description:
      'As `curl -T` does. The name in the address is the original name; each request stores a file of its own. Files called `upload`, `upload-link`, `resumable` or `_delete_` need another way.',
    access: 'optional',
    parameters: sendingParameters,
    pathParameters: {
      name: {
        description: 'The name of the file to be stored',
        schema: { type: 'string', minLength: 1, maxLength: 1000 },
      },
    },
    body: { description: 'The bytes', content: { '*/*': { schema: bytes } } },
    answers: {
      200: {
        description: 'What is known of the file',
        headers: replayedHeaders,
        content: jsonContent(cloudFile),
      },
    },
    errors: sendingErrors,
    sample: (base) =>
      `echo hello > hello.txt\n${curl({ url: `${base}/_f_/demo/hello.txt`, more: ['-T hello.txt'] })}`,
  },
  ...resumableDescriptions,
  uploadLink: uploadLinkDescription,
  link: {
    id: 'link',
    tag,
    summary: 'Create a link that expires',
    description: 'Anyone who has the link can read this one file until then, also with FILE_LINKS=private.',
    access: 'token',
    pathParameters: fileName,
    body: {
      description: 'How long the link is valid',
      content: jsonContent(
        {
          type: 'object',
          required: ['expiresIn'],
          properties: {
            expiresIn: { type: 'integer', minimum: 1, maximum: longestLife, description: 'Seconds' },
          },
        },
        { expiresIn: 3600 },
      ),
    },
    answers: {
      200: jsonAnswer(
        'The link',
        named('Link', exactObject({ link: { type: 'string', format: 'uri' }, expiresAt: dateTime })),
      ),
    },
    errors: [...accountErrors, ...bodyErrors, 'not_found'],
    sample: (base) =>
      nameOfUpload(base) + curl({ url: `${base}/_f_/demo/$NAME/link`, body: { expiresIn: 3600 } }),
  },
  download: {
    id: 'download',
    tag,
    summary: 'Download a file',
    description:
      'The `s3Link` of a CloudFile. With FILE_LINKS=private it needs the token of the owner, or a link that expires.',
    access: 'optional',
    pathParameters: fileName,
    parameters: [
      queryParameter('expires', 'Of a link that expires'),
      queryParameter('signature', 'Of a link that expires'),
      headerParameter('Range', 'A single range of bytes, such as `bytes=0-99`'),
      headerParameter('If-Range', 'An ETag or a time: another version is sent as a whole'),
      headerParameter('If-None-Match', 'ETags: 304 when it is one of them'),
      headerParameter('If-Modified-Since', 'A time: 304 when there is nothing newer'),
    ],
    answers: {
      200: fileAnswer('The file'),
      206: fileAnswer('A part of it', { 'Content-Range': header('Which part, and the size of the whole') }),
      304: { description: 'The client has it', headers: versionHeaders },
    },
    errors: [...accountErrors, 'link_refused', 'not_found', 'range_not_satisfiable', 'unavailable'],
    head: { summary: 'Ask about a file', statuses: [200, 304] },
    sample: (base) => nameOfUpload(base) + curl({ url: `${base}/_f_/demo/$NAME` }),
  },
  listFiles: {
    id: 'listFiles',
    tag,
    summary: 'List the files of a project',
    description:
      'Newest first, unless `sort` or `order` says otherwise. `next` is the `after` of the following page.',
    access: 'token',
    parameters: describeList(fileListParameters),
    answers: { 200: jsonAnswer('A page of them', filePage) },
    errors: [...accountErrors, 'invalid_slug', 'invalid_condition', 'project_not_found', 'not_found'],
    sample: (base) => `${upload(base)}\n${curl({ url: `${base}/_f_/demo?limit=10&type=text/` })}`,
  },
  deleteFile: {
    id: 'deleteFile',
    tag,
    summary: 'Delete a file',
    description: 'Deletes its bytes and its metadata. Copies in caches and CDNs stay.',
    access: 'token',
    pathParameters: fileName,
    answers: { 204: { description: 'The file is deleted', headers: noStore } },
    errors: [...accountErrors, 'not_found', 'unavailable'],
    sample: (base) => nameOfUpload(base) + curl({ method: 'DELETE', url: `${base}/_f_/demo/$NAME` }),
  },
  deleteFiles: {
    id: 'deleteFiles',
    tag,
    summary: 'Delete files by their names',
    description:
      'Deletes each as the deletion of a single file does. Those that can’t be deleted are listed; the others are gone.',
    access: 'token',
    body: {
      description: 'The `name` of each CloudFile',
      content: jsonContent(
        {
          type: 'object',
          required: ['names'],
          properties: {
            names: {
              type: 'array',
              items: { type: 'string', maxLength: 200 },
              minItems: 1,
              maxItems: mostNames,
            },
          },
        },
        { names: ['0197a5c8-7c1e-4d3a-9b52-0c9f6e1d2a34_hello.txt'] },
      ),
    },
    answers: { 200: jsonAnswer('How many were deleted, and which were not', deletions) },
    errors: [...accountErrors, ...bodyErrors, 'invalid_slug', 'unavailable'],
    sample: (base) =>
      nameOfUpload(base) +
      curl({ url: `${base}/_f_/demo/_delete_`, more: ['-d "{\\"names\\": [\\"$NAME\\"]}"'] }),
  },
} as const satisfies Readonly<Record<string, ApiOperation>>;
