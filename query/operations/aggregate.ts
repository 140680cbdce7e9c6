import { arrayOf } from '#kernel/json/schema.ts';
import { continueWith } from '#kernel/limits/continue-with.ts';
import { moreGroups } from '#records/group-rows.ts';
import type { AggregatePlan } from '#records/input/aggregate/aggregate-plan.ts';
import type { KeptResults } from '#records/store/kept-results.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import type { HttpResponse } from '#server/http/http-types.ts';
import { parseAggregate } from '../input/parse-aggregate.ts';
import { requireQueryType } from '../input/query-media-type.ts';
import { conditionErrors } from '../openapi/describe-operation.ts';
import { groupHeaders } from '../openapi/filter-schemas.ts';
import { makePerson } from '../openapi/operation-sample.ts';
import { jsonAnswer } from './json-answer.ts';
import { type AnswerHeaders, type KeptPlan, KeptRead } from './kept-read.ts';
import type { OperationCall, OperationDefinition, OperationDeps } from './operation.ts';

export const aggregate: OperationDefinition = {
  run(call, deps) {
    return continueWith(call.open(), (space) => answerGroups(call, deps, space));
  },
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

async function answerGroups(
  call: OperationCall,
  deps: OperationDeps,
  space: RecordSpace,
): Promise<HttpResponse> {
  if (call.request.method === 'QUERY') requireQueryType(call.request);
  const body = await call.body();
  const asked = { body, key: `${call.request.rawQuery} ${JSON.stringify(body)}` };
  return new Groups(call, deps, space, { name: 'aggregate', asked }).answer();
}

interface GroupsPlan extends KeptPlan {
  readonly read: AggregatePlan;
}

class Groups extends KeptRead<GroupsPlan> {
  protected plan(): GroupsPlan {
    const read = parseAggregate(this.asked.body, this.call.request, this.space.structure);
    return { conditions: read.where, populate: null, counted: null, read };
  }

  protected now(): null {
    return null;
  }

  protected async later(plan: GroupsPlan, cache: KeptResults): Promise<HttpResponse> {
    const { space, key } = this;
    const { signal } = this.call.request;
    // where there are no records there may be a row
    const read = (): Promise<Uint8Array> => this.deps.reader.aggregate(space, plan.read, signal);
    const isKept = !space.missing && this.mayKeep(plan);
    const groups = isKept ? await cache.load(space, key, plan.conditions, read) : await read();
    return jsonAnswer(groups as Uint8Array, this.headersOfKept(groups as Uint8Array));
  }

  protected override headersOfKept(groups: Uint8Array): AnswerHeaders {
    const more = moreGroups(groups);
    return more === null ? this.headers : { ...this.headers, ...more };
  }
}
