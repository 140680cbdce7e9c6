import {
  type ApiOperation,
  accountErrors,
  bodyErrors,
  jsonAnswer,
  jsonContent,
  queryParameter,
} from '../common/openapi/api-operation.ts';
import { curl } from '../common/openapi/curl.ts';
import { count, dateTime, exactObject, named, type Schema } from '../common/openapi/schema.ts';
import { tag } from './cloud-file-schema.ts';
import { filterPattern } from './media-type.ts';
import { longestLife } from './operations/link.ts';
import { mostTimes } from './operations/upload-link.ts';

/** Of requests that a link lets in without a token. */
export const linkParameter = queryParameter('link', 'Of an upload link, instead of a token');
export const uploadParameter = queryParameter('upload', 'Of an upload that a link began, instead of a token');

const wishes: Readonly<Record<string, Schema>> = {
  expiresIn: { type: 'integer', minimum: 1, maximum: longestLife, description: 'Seconds' },
  maxBytes: { ...count, description: 'Of a file' },
  type: {
    type: 'string',
    pattern: filterPattern.source,
    description: 'A media type, or the beginning of one up to its slash, such as `image/`',
  },
  times: { type: 'integer', minimum: 1, maximum: mostTimes, description: 'How many uploads' },
};
const addresses: Readonly<Record<string, Schema>> = {
  form: { type: 'string', format: 'uri', description: 'For a form' },
  resumable: { type: 'string', format: 'uri', description: 'The endpoint for tus' },
  put: { type: 'string', description: 'For a plain body: `{name}` is that of the file' },
};

/** How the description of the API shows upload links. */
export const uploadLinkDescription = {
  id: 'uploadLink',
  tag,
  summary: 'Create a link for uploads',
  description:
    'Anyone who has one of the addresses can upload to the project until then. The files belong to the account that made the link.',
  access: 'token',
  body: {
    description: 'What the link lets in',
    content: jsonContent(exactObject(wishes, { optional: ['maxBytes', 'type', 'times'] }), {
      ...{ expiresIn: 600, maxBytes: 5_000_000, type: 'image/', times: 1 },
    }),
  },
  answers: {
    200: jsonAnswer('The link', named('UploadLink', exactObject({ ...addresses, expiresAt: dateTime }))),
  },
  errors: [...accountErrors, ...bodyErrors, 'invalid_slug', 'unavailable'],
  sample: (base) => curl({ url: `${base}/_f_/demo/upload-link`, body: { expiresIn: 600, times: 1 } }),
} as const satisfies ApiOperation;
