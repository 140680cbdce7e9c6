import { arrayOf } from '#kernel/json/schema.ts';
import { moreGroups } from '#records/group-rows.ts';
import type { AggregatePlan } from '#records/input/aggregate/aggregate-plan.ts';
import type { KeptResults } from '#records/store/kept-results.ts';
import type { HttpResponse } from '#server/http/http-types.ts';
import type { AskedConditions } from '../input/asked-conditions.ts';
import { parseAggregate } from '../input/parse-aggregate.ts';
import { requireQueryType } from '../input/query-media-type.ts';
import { conditionErrors } from '../openapi/describe-operation.ts';
import { groupHeaders } from '../openapi/filter-schemas.ts';
import { makePerson } from '../openapi/operation-sample.ts';
import { jsonAnswer } from './json-answer.ts';
import { type AnswerHeaders, type KeptPlan, KeptRead } from './kept-read.ts';
import type { OperationDefinition } from './operation.ts';

export const aggregate: OperationDefinition = {
  run(call, deps) {
    return new Groups(call, deps).answer();
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

interface GroupsPlan extends KeptPlan {
  readonly read: AggregatePlan;
}

class Groups extends KeptRead<GroupsPlan> {
  protected readonly name = 'aggregate';

  protected override async conditions(): Promise<AskedConditions> {
    const { request } = this.call;
    if (request.method === 'QUERY') requireQueryType(request);
    const body = await this.call.body();
    return { body, key: `${request.rawQuery} ${JSON.stringify(body)}` };
  }

  protected plan(): GroupsPlan {
    const read = parseAggregate(this.asked.body, this.call.request, this.space.structure);
    return { conditions: read.where, populate: null, counted: null, read };
  }

  protected now(): null {
    return null;
  }

  protected async later(plan: GroupsPlan, cache: KeptResults): Promise<HttpResponse> {
    // where there are no records there may be a row
    const isKept = !this.space.missing && this.mayKeep(plan);
    const groups = isKept ? await this.shared(plan, cache) : await this.read(plan);
    return jsonAnswer(groups as Uint8Array, this.headersOfKept(groups as Uint8Array));
  }

  protected read(plan: GroupsPlan): Promise<Uint8Array> {
    return this.deps.reader.aggregate(this.space, plan.read, this.call.request.signal);
  }

  protected override headersOfKept(groups: Uint8Array): AnswerHeaders {
    const more = moreGroups(groups);
    return more === null ? this.headers : { ...this.headers, ...more };
  }
}
