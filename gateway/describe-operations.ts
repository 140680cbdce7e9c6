import type { ErrorCode } from '../common/errors/error-codes.ts';
import { limitParameter, momentSchema, nextPage, queryParameter } from '../common/http/list-schema.ts';
import {
  type ApiAnswer,
  type ApiHeader,
  type ApiOperation,
  type ApiParameter,
  bodyErrors,
  databaseErrors,
  jsonContent,
  usualErrors,
} from '../common/openapi/api-operation.ts';
import { curl, keeping } from '../common/openapi/curl.ts';
import { bytes, dateTime, exactObject, named, type Schema } from '../common/openapi/schema.ts';
import { filterPattern } from './media-type.ts';
import { longestLife } from './operations/link.ts';
import { afterPattern, longestName, orders, sorts } from './operations/list-files.ts';
import { chunkType, tusVersion } from './resumable/tus-headers.ts';

const tag = 'Files';
const string: Schema = { type: 'string' };

/** interface.md section 2.1, and two more. */
const cloudFile = named(
  'CloudFile',
  exactObject({
    _id: { type: 'string', format: 'uuid', description: 'Unique file identifier' },
    name: { type: 'string', description: 'Generated file name that includes the unique id' },
    originalName: { type: 'string', description: 'The file name as uploaded' },
    ownedBy: { type: 'string', description: 'Id of the user who uploaded the file' },
    s3Link: { type: 'string', format: 'uri', description: 'Address of the file' },
    updatedAt: dateTime,
    createdAt: dateTime,
    contentType: { type: 'string', description: 'Media type' },
    size: { type: 'integer', minimum: 0, description: 'Bytes' },
  }),
);

const filePage = named(
  'FilePage',
  exactObject(
    {
      files: { type: 'array', items: cloudFile },
      next: nextPage,
      count: {
        type: 'integer',
        minimum: 0,
        description: 'How many match in all; there when it was asked for',
      },
    },
    { optional: ['count'] },
  ),
);

function upload(base: string): string {
  const url = `${base}/_f_/demo/upload`;
  return `echo hello > hello.txt\n${curl({ url, more: [`-F 'file=@hello.txt'`] })}`;
}

function nameOfUpload(base: string): string {
  const [make, ...send] = upload(base).split('\n');
  return `${make}\n${keeping('NAME', 'name', send.join('\n'))}\n`;
}

function header(description: string): ApiHeader {
  return { description, schema: string, always: true };
}

/** Of a file: headers of its part, headers of the request, or fields of the form. */
const checksums = {
  'Content-MD5': { description: 'Base64; a file with other bytes is refused', schema: string },
  'x-checksum-crc32': { description: 'Base64 of four bytes, or eight hexadecimal digits', schema: string },
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
  name: {
    description: 'The `name` of a CloudFile',
    schema: { type: 'string', minLength: 1 },
  },
} as const;

function conditional(name: string, description: string) {
  return { name, in: 'header', description, schema: string } as const;
}

const storeErrors: readonly ErrorCode[] = [...usualErrors, ...databaseErrors];

const tusHeader: ApiParameter = {
  name: 'Tus-Resumable',
  in: 'header',
  description: 'The version of the protocol',
  required: true,
  schema: { type: 'string', enum: [tusVersion] },
};
const uploadName = {
  name: { description: 'The last segment of the upload’s address', schema: { type: 'string', minLength: 1 } },
} as const;
const count: Schema = { type: 'integer', minimum: 0 };
const tusAnswer = {
  'Tus-Resumable': header(tusVersion),
  'Cache-Control': header('no-store'),
};
const expires = { 'Upload-Expires': { description: 'When it ends, unless more bytes come', schema: string } };
const offsetAnswer = { 'Upload-Offset': { description: 'Bytes that are stored', schema: string } };
const tusErrors = [...storeErrors, 'invalid_slug', 'unauthorized', 'unsupported_version'] as const;
const chunkErrors = [
  'invalid_header',
  'request_timeout',
  'payload_too_large',
  'unsupported_media_type',
  'chunk_checksum_mismatch',
  'too_many_projects',
  'quota_exceeded',
  'unavailable',
] as const;
const chunkParameters: readonly ApiParameter[] = [
  tusHeader,
  conditional('Upload-Checksum', 'sha1, sha256 or crc32 of the body, and the checksum in base64'),
];
const chunkBody = { [chunkType]: { schema: bytes } };

function beginning(base: string): string {
  const more = [`-H 'Tus-Resumable: ${tusVersion}' -H 'Upload-Length: 6' -D headers.txt`];
  return curl({ method: 'POST', url: `${base}/_f_/demo/resumable`, more });
}

function atUpload(base: string, method: string, more: readonly string[] = []): string {
  const url = `${base}$UPLOAD`;
  const take = `UPLOAD=$(sed -n 's/^location: *//p' headers.txt | tr -d '\\r')`;
  return `${beginning(base)}\n${take}\n${curl({ method, url, more: [`-H 'Tus-Resumable: ${tusVersion}'`, ...more] })}`;
}

/** How the description of the API shows the operations of the gateway, by their names in its table. */
export const descriptions = {
  upload: {
    id: 'upload',
    tag,
    summary: 'Upload a file',
    description:
      'The file is durable when the answer comes. Other parts of the form are ignored. The project is created if it does not exist.',
    access: 'token',
    parameters: Object.entries(checksums).map(([name, more]) => ({ name, in: 'header', ...more })),
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
    answers: { 200: { description: 'The stored file', content: jsonContent(cloudFile) } },
    errors: [
      ...storeErrors,
      'invalid_slug',
      'wrong_content_type',
      'invalid_multipart',
      'missing_file_part',
      'chunks_unsupported',
      'checksum_mismatch',
      'unauthorized',
      'too_many_projects',
      'quota_exceeded',
      'request_timeout',
      'payload_too_large',
      'unavailable',
    ],
    sample: upload,
  },
  putFile: {
    id: 'putFile',
    tag,
    summary: 'Upload a file as a plain body',
    description:
      'As `curl -T` does. The name in the address is the original name; each request stores a file of its own. Files called `upload` or `resumable` need another way.',
    access: 'token',
    pathParameters: {
      name: {
        description: 'The name of the file to be stored',
        schema: { type: 'string', minLength: 1, maxLength: 1000 },
      },
    },
    body: { description: 'The bytes', content: { '*/*': { schema: bytes } } },
    answers: { 200: { description: 'What is known of the file', content: jsonContent(cloudFile) } },
    errors: [
      ...storeErrors,
      'invalid_slug',
      'wrong_content_type',
      'invalid_multipart',
      'chunks_unsupported',
      'checksum_mismatch',
      'unauthorized',
      'too_many_projects',
      'quota_exceeded',
      'request_timeout',
      'payload_too_large',
      'unavailable',
    ],
    sample: (base) =>
      `echo hello > hello.txt\n${curl({ url: `${base}/_f_/demo/hello.txt`, more: ['-T hello.txt'] })}`,
  },
  createUpload: {
    id: 'createUpload',
    tag,
    summary: 'Begin an upload that can go on',
    description:
      'tus 1.0: https://tus.io/protocols/resumable-upload, with the first bytes in the body if there are any. Answers the address of the upload; when all bytes have come, the CloudFile too.',
    access: 'token',
    parameters: [
      ...chunkParameters,
      { name: 'Upload-Length', in: 'header', description: 'Bytes in all', schema: count },
      conditional('Upload-Defer-Length', '1: the length is told later'),
      conditional(
        'Upload-Metadata',
        'Names with values in base64: `filename` and `filetype` are those of the file',
      ),
    ],
    answers: {
      201: {
        description: 'It is begun',
        headers: { ...tusAnswer, ...expires, ...offsetAnswer, Location: header('Of the upload') },
      },
    },
    errors: [...tusErrors, ...chunkErrors, 'invalid_multipart'],
    sample: beginning,
  },
  uploadState: {
    id: 'uploadState',
    tag,
    summary: 'The file that an upload became',
    description: '404 while it is not complete.',
    access: 'token',
    pathParameters: uploadName,
    answers: {
      200: {
        description: 'What is known of the file',
        headers: { 'Cache-Control': header('no-store') },
        content: jsonContent(cloudFile),
      },
    },
    errors: [...tusErrors, 'not_found', 'upload_expired', 'too_many_projects', 'quota_exceeded'],
    head: { summary: 'How many bytes of an upload are stored (tus 1.0)', statuses: [200] },
  },
  append: {
    id: 'append',
    tag,
    summary: 'Send more bytes of an upload',
    description:
      'tus 1.0. Bytes that are acknowledged survive whatever happens to a server. A request that breaks off counts as far as it came, unless it has a checksum. The newest request to an upload ends the one before.',
    access: 'token',
    pathParameters: uploadName,
    parameters: [
      ...chunkParameters,
      {
        name: 'Upload-Offset',
        in: 'header',
        description: 'Where the bytes begin',
        required: true,
        schema: count,
      },
      {
        name: 'Upload-Length',
        in: 'header',
        description: 'Bytes in all, if that was deferred',
        schema: count,
      },
    ],
    body: { description: 'The bytes', content: chunkBody },
    answers: {
      200: {
        description: 'The upload is complete',
        headers: { ...tusAnswer, ...offsetAnswer },
        content: jsonContent(cloudFile),
      },
      204: { description: 'The bytes are stored', headers: { ...tusAnswer, ...expires, ...offsetAnswer } },
    },
    errors: [...tusErrors, ...chunkErrors, 'not_found', 'upload_conflict', 'upload_expired'],
    sample: (base) =>
      atUpload(base, 'PATCH', [
        `-H 'Upload-Offset: 0' -H 'Content-Type: ${chunkType}'`,
        `--data-binary 'hello!'`,
      ]),
  },
  dropUpload: {
    id: 'dropUpload',
    tag,
    summary: 'Drop an upload that is not complete',
    access: 'token',
    pathParameters: uploadName,
    parameters: [tusHeader],
    answers: { 204: { description: 'It is gone', headers: tusAnswer } },
    errors: [...tusErrors, 'not_found', 'upload_conflict'],
    sample: (base) => atUpload(base, 'DELETE'),
  },
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
      200: {
        description: 'The link',
        headers: { 'Cache-Control': header('no-store') },
        content: jsonContent(
          named('Link', exactObject({ link: { type: 'string', format: 'uri' }, expiresAt: dateTime })),
        ),
      },
    },
    errors: [...storeErrors, ...bodyErrors, 'unauthorized', 'not_found'],
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
      { name: 'expires', in: 'query', description: 'Of a link that expires', schema: string },
      { name: 'signature', in: 'query', description: 'Of a link that expires', schema: string },
      conditional('Range', 'A single range of bytes, such as `bytes=0-99`'),
      conditional('If-Range', 'An ETag or a time: another version is sent as a whole'),
      conditional('If-None-Match', 'ETags: 304 when it is one of them'),
      conditional('If-Modified-Since', 'A time: 304 when there is nothing newer'),
    ],
    answers: {
      200: fileAnswer('The file'),
      206: fileAnswer('A part of it', { 'Content-Range': header('Which part, and the size of the whole') }),
      304: { description: 'The client has it', headers: versionHeaders },
    },
    errors: [
      ...storeErrors,
      'unauthorized',
      'link_refused',
      'not_found',
      'range_not_satisfiable',
      'unavailable',
    ],
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
    parameters: [
      limitParameter,
      queryParameter('after', 'The `next` of the page before', {
        type: 'string',
        pattern: afterPattern.source,
      }),
      queryParameter('name', 'Part of the original name; letter case is ignored', {
        type: 'string',
        minLength: 1,
        maxLength: longestName,
      }),
      queryParameter('type', 'A media type, or the beginning of one up to its slash, such as `image/`', {
        type: 'string',
        pattern: filterPattern.source,
      }),
      queryParameter('from', 'Uploaded on this day (UTC) or at this time, or later', momentSchema),
      queryParameter('to', 'Uploaded on this day (UTC) or at this time, or earlier', momentSchema),
      queryParameter('sort', 'By time of upload, or by the original name in lower case', {
        type: 'string',
        enum: sorts,
        default: 'createdAt',
      }),
      queryParameter('order', 'Ascending or descending', { type: 'string', enum: orders, default: 'desc' }),
      queryParameter('count', 'Whether the answer says how many files match in all', {
        type: 'string',
        enum: ['true', 'false'],
        default: 'false',
      }),
    ],
    answers: {
      200: {
        description: 'A page of them',
        headers: { 'Cache-Control': header('no-store') },
        content: jsonContent(filePage),
      },
    },
    errors: [...storeErrors, 'unauthorized', 'invalid_slug', 'invalid_condition', 'project_not_found'],
    sample: (base) => `${upload(base)}\n${curl({ url: `${base}/_f_/demo?limit=10&type=text/` })}`,
  },
  deleteFile: {
    id: 'deleteFile',
    tag,
    summary: 'Delete a file',
    description: 'Deletes its bytes and its metadata. Copies in caches and CDNs stay.',
    access: 'token',
    pathParameters: fileName,
    answers: {
      204: { description: 'The file is deleted', headers: { 'Cache-Control': header('no-store') } },
    },
    errors: [...storeErrors, 'unauthorized', 'not_found', 'unavailable'],
    sample: (base) => nameOfUpload(base) + curl({ method: 'DELETE', url: `${base}/_f_/demo/$NAME` }),
  },
} as const satisfies Readonly<Record<string, ApiOperation>>;
