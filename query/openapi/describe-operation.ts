import type { ErrorCode } from '#kernel/errors/error-codes.ts';
import type { Need } from '#kernel/grants.ts';
import { type Schema, string } from '#kernel/json/schema.ts';
import type { OperationIdentity } from '#records/structure/space-auth.ts';
import {
  type ApiHeader,
  type ApiMedia,
  type ApiOperation,
  type ApiParameter,
  accountErrors,
  bodyErrors,
  headerParameter,
  jsonContent,
} from '#server/openapi/api-operation.ts';
import { queryableHeader, timingHeader, timingParameter } from './filter-schemas.ts';
import { type Sample, sampleText, structureHeader } from './operation-sample.ts';
import type { SpaceModel } from './space-model.ts';

/** The public part of an operation. */
export interface DescribedOperation extends OperationIdentity {
  /** The grant that an access token needs, and what the operation touches. */
  readonly needs: Need;
  /** In the description of the API; absent: its name. */
  readonly id?: string;
  readonly method: 'GET' | 'POST' | 'DELETE' | 'QUERY';
  /** With `:name` for each part that a request fills in. */
  readonly path: string;
  /** Other routes, with the conditions in the body. */
  readonly also?: readonly { readonly method: 'POST' | 'QUERY'; readonly path: string }[];
  /** Absent: the tag of its family. */
  readonly tag?: string;
  readonly summary: string;
  readonly description?: string;
  /** Headers about its space. Absent: all; `creation`: the structure does not come in a header; `none`: it makes no space. */
  readonly spaceHeaders?: 'creation' | 'none';
  /** Whether it reads the `options` header. */
  readonly options?: true;
  /** Its own. */
  readonly parameters?: (space: SpaceModel) => readonly ApiParameter[];
  /** Whether it reads `Sluice-Timing`. */
  readonly timed?: true;
  /** Absent: no body. */
  readonly body?: (space: SpaceModel) => ApiMedia;
  /** Whether the elements of its body may come as NDJSON as well. */
  readonly takesLines?: true;
  /** Media types of the file in its body; absent: no file. */
  readonly file?: readonly string[];
  /** A JSON answer with status 200. */
  readonly answer?: (space: SpaceModel) => Schema;
  /** Its own. */
  readonly answerHeaders?: Readonly<Record<string, ApiHeader>>;
  readonly answers?: ApiOperation['answers'];
  /** Its own. */
  readonly errors?: readonly ErrorCode[];
  readonly sample: Sample;
}

/** Errors of opening the space of a request. */
export const spaceErrors: readonly ErrorCode[] = [
  'invalid_slug',
  'invalid_header',
  'missing_structure',
  'invalid_structure',
  'structure_conflict',
  'clear_not_allowed',
  'too_many_spaces',
  'too_many_projects',
  'project_not_found',
  'record_space_not_found',
  'not_allowed',
];
export const conditionErrors: readonly ErrorCode[] = [
  'invalid_condition',
  'invalid_options',
  'too_many_attempts',
];
export const writeErrors: readonly ErrorCode[] = [
  'invalid_value',
  'not_unique',
  'quota_exceeded',
  'unavailable',
];

/** RFC 10008 section 2.1. */
const queryErrors: readonly ErrorCode[] = ['wrong_content_type', 'unsupported_media_type'];

/** Body and answer of an operation that changes one record. */
export const changedRecord: Pick<DescribedOperation, 'body' | 'answer'> = {
  body: ({ changes }) => changes,
  answer: ({ record }) => record,
};

const tags = {
  find: 'Read records',
  insert: 'Write records',
  update: 'Write records',
  delete: 'Delete records',
};

const inQuery = { suffix: '', summary: '' };
const inBody = {
  QUERY: { suffix: 'ByQuery', summary: ', by QUERY (RFC 10008)' },
  POST: { suffix: 'ByBody', summary: ', with conditions in the body' },
};

/** Describes one route of an operation. @param also which of its other routes; absent: the main one */
export function describeOperation(
  operation: DescribedOperation,
  space: SpaceModel,
  also?: NonNullable<DescribedOperation['also']>[number],
): ApiOperation {
  const {
    id = operation.name,
    family,
    description,
    spaceHeaders,
    file,
    answer,
    answers = {},
    errors = [],
    sample,
  } = operation;
  const headers = {
    ...operation.answerHeaders,
    ...(operation.timed === true ? timingHeader : {}),
    ...(operation.also === undefined ? {} : queryableHeader),
  };
  const way = also === undefined ? inQuery : inBody[also.method];
  const ownBody = operation.body?.(space);
  const body = ownBody ?? (also === undefined ? undefined : space.conditionsBody);
  const bodyText = ownBody === undefined ? 'Conditions' : 'JSON';
  return {
    id: `${id}${way.suffix}`,
    tag: operation.tag ?? (family === null ? 'Users' : tags[family]),
    summary: `${operation.summary}${way.summary}`,
    ...(description === undefined ? {} : { description }),
    access: 'token',
    needs: operation.needs,
    parameters: parametersOf(operation, space, also !== undefined),
    ...(body === undefined ? {} : { body: { description: bodyText, content: bodyContent(operation, body) } }),
    ...(file === undefined ? {} : { body: { description: 'The file', content: fileContent(file) } }),
    answers: {
      ...(answer && { 200: { description: 'Done', headers, content: jsonContent(answer(space)) } }),
      ...answers,
    },
    errors: [
      ...accountErrors,
      ...(spaceHeaders === 'none' ? [] : spaceErrors),
      ...(body === undefined ? [] : bodyErrors),
      ...(also?.method === 'QUERY' ? queryErrors : []),
      ...errors,
    ],
    sample(base) {
      const { query = '', ...more } = sample;
      return sampleText(base, also ?? operation, {
        ...(spaceHeaders === undefined ? { headers: structureHeader } : {}),
        ...(body === undefined ? {} : { body: body.example }),
        ...more,
        // the body has the conditions
        ...(also === undefined ? { query } : {}),
      });
    },
  };
}

function bodyContent({ takesLines }: DescribedOperation, body: ApiMedia): Readonly<Record<string, ApiMedia>> {
  const content = { 'application/json': body };
  if (takesLines !== true || !Array.isArray(body.example)) return content;
  const lines = body.example.map((record) => JSON.stringify(record)).join('\n');
  return { ...content, 'application/x-ndjson': { schema: string, example: lines } };
}

function fileContent(mediaTypes: readonly string[]): Readonly<Record<string, ApiMedia>> {
  return Object.fromEntries(
    mediaTypes.map((type) => [type, { schema: { type: 'string', format: 'binary' } }]),
  );
}

function parametersOf(
  { family, spaceHeaders, options, parameters, timed }: DescribedOperation,
  space: SpaceModel,
  asBody: boolean,
): readonly ApiParameter[] {
  const loginToken = headerParameter('token', 'A login token, for spaces with `authOptions`');
  const ruled = headerParameter(
    'sluice-act-as-user',
    'Whether the rules of the space bind the request, as they bind publishable tokens',
    { type: 'string', enum: ['true', 'false'] },
  );
  return [
    ...(asBody ? [] : (parameters?.(space) ?? [])),
    ...(spaceHeaders === undefined ? space.structureHeaders : []),
    ...(options === true ? [space.options] : []),
    ...(timed === true ? [timingParameter] : []),
    ...(family === null ? [] : [loginToken, ruled]),
    ...(spaceHeaders === 'none' ? [] : space.creationHeaders),
  ];
}
