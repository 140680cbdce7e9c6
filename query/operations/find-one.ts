import { answerAsked } from './asked-records.ts';
import { cachedRecord } from './cached-answer.ts';
import { foundRecords } from './find.ts';
import type { OperationDefinition } from './operation.ts';

/**
 * GET /{project}/{space}/_single_: the first record that matches, or `null` (interface.md section 4.4).
 * The same with conditions in the body of QUERY, or of POST /{project}/{space}/_single_/_find_.
 * A page begins where find's would: its limit does not matter, its offset does.
 */
export const findOne: OperationDefinition = {
  run: (call, deps) =>
    answerAsked({ operation: 'findOne', call, deps }, cachedRecord, (space, plan) => ({
      now() {
        return deps.reader.firstNow(space, plan);
      },
      read() {
        return deps.reader.first(space, plan, call.request.signal);
      },
    })),
  summary: 'Find one record',
  description: 'The first record that matches, or `null`.',
  ...foundRecords,
  answer: ({ foundOrNull }) => foundOrNull,
};
