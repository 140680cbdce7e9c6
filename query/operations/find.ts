import { arrayOf } from '../../common/openapi/schema.ts';
import { conditionErrors } from '../openapi/describe-operation.ts';
import {
  controlParameters,
  foundHeaders,
  queryableHeaders,
  timingParameter,
} from '../openapi/filter-schemas.ts';
import { answerAsked } from './asked-records.ts';
import { cachedList } from './cached-answer.ts';
import type { OperationDefinition } from './operation.ts';

/** How find and findOne are asked, and what their answers have in common. */
export const foundRecords = {
  parameters: ({ conditions }) => [...conditions, ...controlParameters],
  headers: [timingParameter],
  options: true,
  answerHeaders: { ...foundHeaders, ...queryableHeaders },
  errors: [...conditionErrors, 'query_too_expensive'],
  sample: { query: '?name=Ada' },
} satisfies Partial<OperationDefinition>;

/**
 * GET /{project}/{space}: a JSON array of the records that match (interface.md section 4.3). The same with conditions in
 * the body of QUERY, or of POST /{project}/{space}/_find_.
 */
export const find: OperationDefinition = {
  run: (call, deps) =>
    answerAsked({ operation: 'find', call, deps }, cachedList, (space, plan) => ({
      now() {
        return deps.reader.listNow(space, plan);
      },
      read() {
        return deps.reader.stream(space, plan, call.request.signal);
      },
    })),
  summary: 'Find records',
  description:
    'The records that match, in a JSON array. With `QUERY` at the same address, or `POST` at `_find_`, the conditions come in the body.',
  ...foundRecords,
  answer: ({ found }) => arrayOf(found),
};
