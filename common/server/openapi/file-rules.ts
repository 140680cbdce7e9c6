import type { ErrorCode } from '#kernel/errors/error-codes.ts';
import { type ApiOperation, headerParameter } from './api-operation.ts';

const parameters = [
  headerParameter('token', 'A login token, for requests that rules of files bind'),
  headerParameter(
    'sluice-act-as-user',
    'Whether the rules of the project’s files bind the request, as they bind publishable tokens',
    { type: 'string', enum: ['true', 'false'] },
  ),
];
const errors: readonly ErrorCode[] = ['invalid_header', 'not_allowed'];

/** The description of an operation on files, with what rules of files add to it. */
export function underFileRules<Described extends Pick<ApiOperation, 'parameters' | 'errors'>>(
  operation: Described,
): Described {
  return {
    ...operation,
    parameters: [...(operation.parameters ?? []), ...parameters],
    errors: [...new Set([...operation.errors, ...errors])],
  };
}
