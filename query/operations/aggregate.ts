import { arrayOf } from '#kernel/json/schema.ts';
import { continueWith } from '#kernel/limits/continue-with.ts';
import { moreGroups } from '#records/group-rows.ts';
import { parseAggregate } from '../input/parse-aggregate.ts';
import { requireQueryType } from '../input/query-media-type.ts';
import { conditionErrors } from '../openapi/describe-operation.ts';
import { groupHeaders } from '../openapi/filter-schemas.ts';
import { makePerson } from '../openapi/operation-sample.ts';
import { cachedBytes } from './cached-answer.ts';
import { queryableJson } from './json-answer.ts';
import type { OperationDefinition } from './operation.ts';

export const aggregate: OperationDefinition = {
  run: (call, deps) =>
    continueWith(call.open(), async (space) => {
      const { request } = call;
      if (request.method === 'QUERY') requireQueryType(request);
      const given = await call.body();
      const asked = `aggregate ${request.rawQuery} ${JSON.stringify(given)}`;
      const prepare = () => {
        const plan = parseAggregate(given, request, space.structure);
        const read = (): Promise<Uint8Array> => deps.reader.aggregate(space, plan, request.signal);
        return { conditions: plan.where, populate: null, total: null, now: () => null, read };
      };
      const answer = await cachedBytes({ call, deps, space, asked, headers: queryableJson }, prepare);
      const more = moreGroups(answer.body);
      return more === null ? answer : { ...answer, headers: { ...answer.headers, ...more } };
    }),
  summary: 'Count, sum and group records',
  description:
    'Groups of the records that match, and what is computed of each group. Without `groupBy` all are one group.',
  parameters: ({ conditions }) => conditions,
  options: true,
  timed: true,
  body: ({ aggregation }) => aggregation,
  answer: () =>
    arrayOf({
      type: 'object',
      description: 'A group: the names in groupBy and values, with what it has; null without a value',
      additionalProperties: true,
    }),
  answerHeaders: groupHeaders,
  errors: [...conditionErrors, 'query_too_expensive'],
  sample: { first: makePerson },
};
