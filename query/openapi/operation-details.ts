import type { ErrorCode } from '../../common/errors/error-codes.ts';
import type { ApiOperation, ApiParameter } from '../../common/openapi/api-operation.ts';
import { nameSchema } from '../../common/openapi/name-schema.ts';
import { exactObject, named, type Schema } from '../../common/openapi/schema.ts';
import { openApiAnswers, versionParameter } from '../../common/openapi-document/openapi-answer.ts';
import { storedStructureSchema } from '../structure/structure-schema.ts';
import type { SpaceModel } from './space-model.ts';

/** What the table of operations does not say of an operation. */
export interface OperationDetails {
  readonly summary: string;
  readonly description?: string;
  readonly query?: (space: SpaceModel) => readonly ApiParameter[];
  /** It reads the `options` header. */
  readonly options?: true;
  /** Of a request that is not one of conditions. */
  readonly body?: (space: SpaceModel) => { readonly schema: Schema; readonly example: unknown };
  /** JSON; or else `answers`. */
  readonly answer?: (space: SpaceModel) => Schema;
  readonly answers?: ApiOperation['answers'];
  readonly errors?: readonly ErrorCode[];
  /** It names no space by path and headers. */
  readonly ownHeaders?: (space: SpaceModel) => readonly ApiParameter[];
}

const records = ({ record }: SpaceModel): Schema => ({ type: 'array', items: record });
const foundRecords = ({ found }: SpaceModel): Schema => ({ type: 'array', items: found });
const conditions = (space: SpaceModel): readonly ApiParameter[] => space.conditions;
const conditionErrors: readonly ErrorCode[] = ['invalid_condition', 'invalid_options', 'too_many_attempts'];
const writeErrors: readonly ErrorCode[] = ['invalid_value', 'not_unique', 'quota_exceeded', 'unavailable'];

const id: readonly ApiParameter[] = [
  {
    name: 'id',
    in: 'query',
    required: true,
    description: 'Of the record',
    schema: { type: 'string' },
    example: '0197a5c8-7c1e-7d3a-9b52-0c9f6e1d2a34',
  },
];

const loginToken: ApiParameter = {
  name: 'token',
  in: 'header',
  required: true,
  description: 'The login token of a user in this record space',
  schema: { type: 'string' },
};

const sample: OperationDetails['body'] = () => ({
  schema: named('SampleRecord', {
    type: 'object',
    minProperties: 1,
    propertyNames: nameSchema,
    additionalProperties: true,
  }),
  example: { firstName: 'Ada', age: 36 },
});

const changedRecord: Pick<OperationDetails, 'body' | 'answer'> = {
  body: ({ changes, examples }) => ({ schema: changes, example: examples.changes }),
  answer: ({ record }) => record,
};

function missingFunction(summary: string): OperationDetails {
  return {
    summary,
    description: 'Not available: always answers 501.',
    errors: ['not_implemented'],
  };
}

/** By the names of the table of operations. */
export const operationDetails: Readonly<Record<string, OperationDetails>> = {
  find: {
    summary: 'Find records',
    description:
      'The records that match, in a JSON array. With `QUERY` at the same address, or `POST` at `_find_`, the conditions come in the body.',
    query: conditions,
    options: true,
    answer: foundRecords,
    errors: conditionErrors,
  },
  findOne: {
    summary: 'Find one record',
    description: 'The first record that matches, or `null`.',
    query: conditions,
    options: true,
    answer: ({ foundOrNull }) => foundOrNull,
    errors: conditionErrors,
  },
  search: {
    summary: 'Search text fields',
    description: 'The records in which any of the fields contains the text, and that match the conditions.',
    query: ({ search, conditions }) => [
      ...search,
      ...conditions.filter(({ name }) => search.every((parameter) => parameter.name !== name)),
    ],
    options: true,
    answer: foundRecords,
    errors: ['invalid_condition', 'invalid_options'],
  },
  getKeys: {
    summary: 'Get the keys of a key group',
    description: 'The one record of the space, or `null`.',
    answer: ({ recordOrNull }) => recordOrNull,
  },
  insert: {
    summary: 'Insert records',
    description:
      'All are stored, or none. They are durable when the answer comes, and every later find sees them.',
    body: ({ newRecord, examples }) => ({
      schema: { type: 'array', minItems: 1, items: newRecord },
      example: [examples.newRecord],
    }),
    answer: records,
    errors: writeErrors,
  },
  insertOne: {
    summary: 'Insert a record',
    body: ({ newRecord, examples }) => ({ schema: newRecord, example: examples.newRecord }),
    answer: ({ record }) => record,
    errors: writeErrors,
  },
  updateOne: {
    summary: 'Change the record that findOne would return',
    query: conditions,
    options: true,
    ...changedRecord,
    errors: [...conditionErrors, ...writeErrors, 'no_conditions', 'no_match'],
  },
  updateOneById: {
    summary: 'Change the record with an id',
    query: () => id,
    ...changedRecord,
    errors: ['invalid_condition', ...writeErrors, 'no_match'],
  },
  setKeys: {
    summary: 'Set keys of a key group',
    description: 'Sets them in the one record of the space, which the first call creates.',
    ...changedRecord,
    errors: writeErrors,
  },
  deleteOneById: {
    summary: 'Delete the record with an id',
    description: 'Answers the record that was deleted.',
    query: () => id,
    answer: ({ record }) => record,
    errors: ['invalid_condition', 'no_match', 'unavailable'],
  },
  clear: {
    summary: 'Delete all records of a space',
    answer: () =>
      exactObject({ deleted: { type: 'integer', minimum: 0, description: 'How many there were' } }),
    errors: ['unavailable'],
  },
  getTokenOwner: {
    summary: 'Get the user of a login token',
    ownHeaders: () => [loginToken],
    answer: ({ record }) => record,
  },
  login: {
    summary: 'Log a user in',
    description:
      'Finds the user whose fields have the values of the body. The token works for `getTokenOwner` and `authOptions`. Fields that the structure names in `functionOptions.login.compulsoryParams` must be given.',
    ownHeaders: ({ structure }) => [
      {
        name: 'function-resources',
        in: 'header',
        required: true,
        description: 'The structure of the one record space that holds the users',
        json: exactObject(
          {
            mustExistSpaceStructures: { type: 'array', minItems: 1, maxItems: 1, items: structure },
          },
          { additionalProperties: true },
        ),
      },
    ],
    body: () => ({
      schema: named('Credentials', {
        type: 'object',
        minProperties: 1,
        additionalProperties: true,
        description:
          'At least a field that is not hashed, and one that is unless the structure has `compulsoryParams`',
      }),
      example: { email: 'ada@example.com', password: 'correct horse' },
    }),
    answer: ({ record }) => named('Login', exactObject({ token: { type: 'string' }, user: record })),
    errors: ['invalid_value', 'invalid_condition', 'too_many_attempts'],
  },
  sendOtp: missingFunction('Send a one-time password'),
  sendPushNotifications: missingFunction('Send push notifications'),
  setStructure: {
    summary: 'Set the structure of a space',
    description: '`projectSlug` and `slug` may be left out of the body: the path says them.',
    body: ({ structureBody, examples }) => ({ schema: structureBody, example: examples.structure }),
    answer: () => storedStructureSchema,
  },
  setInferredStructure: {
    summary: 'Set the structure of a sample record',
    body: sample,
    answer: () => storedStructureSchema,
    errors: ['invalid_value'],
  },
  getInferredStructure: {
    summary: 'Get the structure of a sample record',
    description: 'Nothing is stored.',
    body: sample,
    answer: () => storedStructureSchema,
    errors: ['invalid_value'],
  },
  getOpenApi: {
    summary: 'Describe a space',
    description: 'OpenAPI of the operations of this space, with its fields as typed schemas and parameters.',
    query: () => [versionParameter],
    answers: openApiAnswers,
  },
};
