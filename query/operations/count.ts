import { count as countSchema, exactObject } from '#kernel/json/schema.ts';
import { continueWith } from '#kernel/limits/continue-with.ts';
import type { Conditions } from '#records/input/parse-conditions.ts';
import type { KeptResults } from '#records/store/kept-results.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import type { HttpResponse } from '#server/http/http-types.ts';
import { askedConditions, parseAsked } from '../input/asked-conditions.ts';
import { conditionErrors } from '../openapi/describe-operation.ts';
import { jsonAnswer } from './json-answer.ts';
import { type KeptPlan, KeptRead } from './kept-read.ts';
import type { OperationCall, OperationDefinition, OperationDeps } from './operation.ts';

export const count: OperationDefinition = {
  run(call, deps) {
    return continueWith(call.open(), (space) => answerCount(call, deps, space));
  },
  summary: 'Count records',
  description: 'How many records match. With `QUERY` the conditions come in the body.',
  parameters: ({ conditions }) => conditions,
  timed: true,
  options: true,
  answer: () => exactObject({ count: countSchema }),
  errors: [...conditionErrors, 'query_too_expensive'],
  sample: { query: '?name=Ada' },
};

function answerCount(
  call: OperationCall,
  deps: OperationDeps,
  space: RecordSpace,
): HttpResponse | Promise<HttpResponse> {
  const conditions = askedConditions(call.request, call.body);
  return continueWith(conditions, (asked) => new Count(call, deps, space, { name: 'count', asked }).answer());
}

interface CountPlan extends KeptPlan {
  readonly conditions: Conditions;
}

class Count extends KeptRead<CountPlan> {
  protected plan(): CountPlan {
    const { conditions } = parseAsked(this.asked, this.call.request, this.space.structure);
    return { conditions, populate: null, counted: null };
  }

  protected now({ conditions }: CountPlan): Uint8Array | null {
    const found = this.deps.reader.countNow(this.space, conditions);
    return found === null ? null : countJson(found);
  }

  protected async later(plan: CountPlan, cache: KeptResults): Promise<HttpResponse> {
    const { space, key } = this;
    const { conditions } = plan;
    if (space.missing) return jsonAnswer(countJson(0), this.headers);
    const { signal } = this.call.request;
    const read = async (): Promise<Uint8Array> =>
      countJson(await this.deps.reader.count(space, signal, conditions));
    const found = this.mayKeep(plan) ? await cache.load(space, key, conditions, read) : await read();
    return jsonAnswer(found as Uint8Array, this.headers);
  }
}

function countJson(count: number): Uint8Array {
  return Buffer.from(JSON.stringify({ count }));
}
