import type { ErrorCode } from '../../common/errors/error-codes.ts';
import {
  type ApiOperation,
  type ApiParameter,
  bodyErrors,
  databaseErrors,
  jsonContent,
  usualErrors,
} from '../../common/openapi/api-operation.ts';
import type { Operation } from '../operations/operation.ts';
import { type OperationDetails, operationDetails } from './operation-details.ts';
import { bodySamples, samples } from './samples.ts';
import type { SpaceModel } from './space-model.ts';

/** Errors of finding, or making, the space of a request. */
const spaceErrors: readonly ErrorCode[] = [
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
];

const loginToken: ApiParameter = {
  name: 'token',
  in: 'header',
  description: 'A login token, for spaces with `authOptions`',
  schema: { type: 'string' },
};

const tags: Readonly<Record<string, string>> = {
  find: 'Read records',
  insert: 'Write records',
  update: 'Write records',
  delete: 'Delete records',
};

/** How an operation asks for its space. */
type Opening = 'space' | 'login' | 'structure' | 'none';
const openings: Readonly<Record<string, Opening>> = {
  login: 'login',
  setStructure: 'structure',
  setInferredStructure: 'structure',
  getInferredStructure: 'none',
  getOpenApi: 'none',
  sendOtp: 'none',
  sendPushNotifications: 'none',
};

/** Of the operations that do not look for a space. */
const spacelessErrors: Readonly<Record<string, readonly ErrorCode[]>> = {
  getInferredStructure: ['invalid_slug', 'invalid_structure'],
  sendOtp: [],
  sendPushNotifications: [],
};

/** The routes of an operation, as the description shows them. @param also the other way to ask for it that is meant */
export function describeOperation(
  operation: Operation,
  space: SpaceModel,
  also?: NonNullable<Operation['also']>[number],
): ApiOperation {
  const details = operationDetails[operation.name];
  if (details === undefined) throw new Error(`the operation ${operation.name} has no description`);
  const inBody = also === undefined ? undefined : asBody(also.method);
  const body = bodyOf(details, space, also !== undefined);
  const sample = also === undefined ? samples[operation.name] : bodySamples[operation.name];
  return {
    id: `${operation.name}${inBody?.suffix ?? ''}`,
    tag: tagOf(operation),
    summary: `${details.summary}${inBody?.summary ?? ''}`,
    ...(details.description === undefined ? {} : { description: details.description }),
    access: 'token',
    parameters: parametersOf(operation, details, space, also !== undefined),
    ...(body === undefined ? {} : { body }),
    answers: answersOf(details, space),
    errors: errorsOf(operation, details, body !== undefined),
    ...(sample === undefined ? {} : { sample: (base: string) => sample(base, also?.method ?? 'POST') }),
  };
}

function answersOf({ answer, answers }: OperationDetails, space: SpaceModel): ApiOperation['answers'] {
  if (answer === undefined) return answers ?? {};
  return { 200: { description: 'Done', content: jsonContent(answer(space)) } };
}

function asBody(method: 'QUERY' | 'POST') {
  return method === 'QUERY'
    ? { suffix: 'ByQuery', summary: ', by QUERY (RFC 10008)' }
    : { suffix: 'ByBody', summary: ', with conditions in the body' };
}

function tagOf({ name, family }: Operation): string {
  if (name === 'getOpenApi') return 'Description';
  if (family !== null) return tags[family] as string;
  return name.endsWith('Structure') ? 'Structures' : 'Users';
}

function parametersOf(
  { name, family }: Operation,
  details: OperationDetails,
  space: SpaceModel,
  asBody: boolean,
): readonly ApiParameter[] {
  const opening = openings[name] ?? 'space';
  return [
    ...(asBody ? [] : (details.query?.(space) ?? [])),
    ...(opening === 'space' ? space.structureHeaders : []),
    ...(details.options === true ? [optionsHeader(space)] : []),
    ...(details.ownHeaders?.(space) ?? []),
    ...(family === null ? [] : [loginToken]),
    ...(opening === 'none' ? [] : space.creationHeaders),
  ];
}

function optionsHeader({ options, examples }: SpaceModel): ApiParameter {
  return {
    name: 'options',
    in: 'header',
    description: 'How conditions combine, order and page, as JSON',
    json: options,
    example: examples.options,
  };
}

function bodyOf(details: OperationDetails, space: SpaceModel, asBody: boolean): ApiOperation['body'] {
  if (asBody) {
    return {
      description: 'Conditions',
      content: jsonContent(space.conditionsBody, space.examples.conditions),
    };
  }
  const body = details.body?.(space);
  if (body === undefined) return undefined;
  return { description: 'JSON', content: jsonContent(body.schema, body.example) };
}

function errorsOf(operation: Operation, details: OperationDetails, hasBody: boolean): readonly ErrorCode[] {
  const { name } = operation;
  return [
    ...usualErrors,
    'unauthorized',
    ...databaseErrors,
    ...(spacelessErrors[name] ?? spaceErrors),
    ...(hasBody ? bodyErrors : []),
    ...(details.errors ?? []),
  ];
}
