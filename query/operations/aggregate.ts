import { continueWith } from '../../common/limits/continue-with.ts';
import { arrayOf } from '../../common/openapi/schema.ts';
import { parseAggregate } from '../input/aggregate/parse-aggregate.ts';
import { requireQueryType } from '../input/query-media-type.ts';
import { conditionErrors } from '../openapi/describe-operation.ts';
import { queryableHeaders, timingParameter } from '../openapi/filter-schemas.ts';
import { makePerson } from '../openapi/operation-sample.ts';
import { cachedRecord } from './cached-answer.ts';
import { queryableJson } from './json-answer.ts';
import type { OperationDefinition } from './operation.ts';

/** POST or QUERY /{project}/{space}/_aggregate_: groups of records, and functions of each. */
export const aggregate: OperationDefinition = {
  run: ({ request, timing, open, body }, { reader, store }) =>
    continueWith(open(), async (space) => {
      if (request.method === 'QUERY') requireQueryType(request);
      const given = await body();
      const asked = `aggregate ${request.rawQuery} ${JSON.stringify(given)}`;
      const call = { cache: store.results, space, request, timing, asked, headers: queryableJson };
      const prepare = () => {
        const plan = parseAggregate(given, request, space.structure);
        const read = (): Promise<string> => reader.aggregate(space, plan, request.signal);
        return { conditions: plan.where, populate: null, total: null, now: () => null, read };
      };
      // where there are no records there may be a row
      return cachedRecord(call, prepare, null);
    }),
  summary: 'Count, sum and group records',
  description:
    'Groups of the records that match, and what is computed of each group. Without `groupBy` all are one group.',
  parameters: ({ conditions }) => conditions,
  options: true,
  headers: [timingParameter],
  body: ({ aggregation }) => aggregation,
  answerHeaders: queryableHeaders,
  answer: () =>
    arrayOf({
      type: 'object',
      description: 'A group: the names in groupBy and values, with what it has; null without a value',
      additionalProperties: true,
    }),
  errors: [...conditionErrors, 'query_too_expensive'],
  sample: { first: makePerson },
};
