import { arrayOf } from '#kernel/json/schema.ts';
import { moreGroups } from '#records/group-rows.ts';
import type { AggregatePlan } from '#records/input/aggregate/aggregate-plan.ts';
import type { KeptResults } from '#records/store/kept-results.ts';
import type { HttpResponse } from '#server/http/http-types.ts';
import { parseAggregate } from '../input/parse-aggregate.ts';
import { requireQueryType } from '../input/query-media-type.ts';
import type { RequestConditions } from '../input/request-conditions.ts';
import { conditionErrors } from '../openapi/describe-operation.ts';
import { groupHeaders } from '../openapi/filter-schemas.ts';
import { makePerson } from '../openapi/operation-sample.ts';
import { type AnswerHeaders, CachedRead, type CachedReadPlan } from './cached-read.ts';
import { jsonAnswer } from './json-answer.ts';
import type { OperationDefinition } from './operation.ts';

export const aggregate: OperationDefinition = {
  run(call, deps) {
    return new AggregateRead(call, deps).answer();
  },
  summary: 'Count, sum and group records',
  description:
    'Groups of the records that match, and values computed from each group. Without `groupBy` all records are one group.',
  parameters: ({ conditions }) => conditions,
  options: true,
  timed: true,
  body: ({ aggregation }) => aggregation,
  answer: () =>
    arrayOf({
      type: 'object',
      description: 'A group: a value for each name in groupBy and values; null where there is none',
      additionalProperties: true,
    }),
  answerHeaders: groupHeaders,
  errors: [...conditionErrors, 'query_too_expensive'],
  sample: { first: makePerson },
};

interface AggregateReadPlan extends CachedReadPlan {
  readonly read: AggregatePlan;
}

class AggregateRead extends CachedRead<AggregateReadPlan> {
  protected readonly operation = 'aggregate';

  protected override async readConditions(): Promise<RequestConditions> {
    const { request } = this.call;
    if (request.method === 'QUERY') requireQueryType(request);
    const body = await this.call.body();
    return { body, key: `${request.rawQuery} ${JSON.stringify(body)}` };
  }

  protected plan(): AggregateReadPlan {
    const read = parseAggregate(this.requested.body, this.call.request, this.space.structure);
    return { conditions: read.where, populate: null, counted: null, read };
  }

  protected fromMemory(): null {
    return null;
  }

  protected async fromEngine(plan: AggregateReadPlan, cache: KeptResults): Promise<HttpResponse> {
    // an empty space can still have a group: without groupBy all records are one
    const isCached = !this.space.missing && this.mayCache(plan);
    const groups = isCached ? await this.shared(plan, cache) : await this.read(plan);
    return jsonAnswer(groups as Uint8Array, this.cachedHeaders(groups as Uint8Array));
  }

  protected read(plan: AggregateReadPlan): Promise<Uint8Array> {
    return this.deps.reader.aggregate(this.space, plan.read, this.call.request.signal);
  }

  protected override cachedHeaders(groups: Uint8Array): AnswerHeaders {
    const more = moreGroups(groups);
    return more === null ? this.headers : { ...this.headers, ...more };
  }
}
