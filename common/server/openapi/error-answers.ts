import { type ErrorCode, errorCodes } from '#kernel/errors/error-codes.ts';
import { problemTypePrefix } from '#kernel/errors/render-error.ts';
import { dateTime, exactObject, named, type Schema } from '#kernel/json/schema.ts';
import { type ApiAnswer, type ApiHeader, header } from './api-operation.ts';

const messages: Schema = { type: 'array', items: { type: 'string' }, minItems: 1 };
const allCodes = Object.keys(errorCodes);

const errorSchema = named(
  'Error',
  exactObject(
    {
      statusCode: { type: 'integer', description: 'The status of the answer' },
      code: { type: 'string', enum: allCodes, description: 'Stable, for programs' },
      message: { type: 'string', description: 'The problems as one text, which may be cut' },
      error: { ...messages, description: 'Every problem that was found' },
      path: { type: 'string', description: 'As it was sent' },
      timestamp: dateTime,
      requestId: { type: 'string', description: 'Also in the header X-Request-Id' },
    },
    {
      description: 'What went wrong',
      example: {
        statusCode: 400,
        code: 'invalid_value',
        message: "Value for Body field: 'age' should be a valid number",
        error: ["Value for Body field: 'age' should be a valid number"],
        path: '/demo/people',
        timestamp: '2026-01-01T00:00:00.000Z',
        requestId: '5a1f3a5c-3c1c-4a3e-9d6a-0a5e4c6c2b11',
      },
    },
  ),
);

const problemSchema = named(
  'Problem',
  exactObject(
    {
      type: { type: 'string', format: 'uri', description: `${problemTypePrefix} and the code` },
      title: { type: 'string', description: 'The same for all problems of a type' },
      status: { type: 'integer', description: 'The status of the answer' },
      detail: { type: 'string', description: 'The problems as one text, which may be cut' },
      instance: { type: 'string', format: 'uri-reference', description: 'The path that was asked for' },
      code: { type: 'string', enum: allCodes },
      errors: { ...messages, description: 'Every problem that was found' },
      timestamp: dateTime,
      requestId: { type: 'string' },
    },
    {
      description:
        'The same as Error, as problem details (RFC 9457), for clients that accept application/problem+json',
    },
  ),
);

const retryAfter: ApiHeader = {
  description: 'Seconds after which to try again',
  schema: { type: 'string', pattern: '^[1-9][0-9]*$' },
};

const headersByStatus: Readonly<Record<number, Readonly<Record<string, ApiHeader>>>> = {
  401: { 'WWW-Authenticate': header('Bearer') },
  409: { 'Retry-After': retryAfter },
  416: { 'Content-Range': header('The size of the file') },
  429: { 'Retry-After': { ...retryAfter, always: true } },
  503: { 'Retry-After': { ...retryAfter, always: true } },
};

export function errorStatuses(codes: readonly ErrorCode[]): number[] {
  return [...new Set(codes.map((code) => errorCodes[code].status))].sort();
}

/** The answer of a status, whatever the operation. */
export function errorAnswer(status: number): ApiAnswer {
  const headers = headersByStatus[status];
  const kinds = Object.entries(errorCodes).filter(([, kind]) => kind.status === status);
  return {
    description: kinds.map(([code, { title }]) => `\`${code}\`: ${title}`).join('\n\n'),
    ...(headers && { headers }),
    content: {
      'application/json': { schema: errorSchema },
      'application/problem+json': { schema: problemSchema },
    },
  };
}
