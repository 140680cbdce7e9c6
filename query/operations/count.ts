import { count as countSchema, exactObject } from '#kernel/json/schema.ts';
import type { Conditions } from '#records/input/parse-conditions.ts';
import type { KeptResults } from '#records/store/kept-results.ts';
import type { HttpResponse } from '#server/http/http-types.ts';
import { parseRequestConditions } from '../input/request-conditions.ts';
import { conditionErrors } from '../openapi/describe-operation.ts';
import { CachedRead, type CachedReadPlan } from './cached-read.ts';
import { jsonAnswer } from './json-answer.ts';
import type { OperationDefinition } from './operation.ts';

export const count: OperationDefinition = {
  run(call, deps) {
    return new CountRead(call, deps).answer();
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

interface CountReadPlan extends CachedReadPlan {
  readonly conditions: Conditions;
}

class CountRead extends CachedRead<CountReadPlan> {
  protected readonly operation = 'count';

  protected plan(): CountReadPlan {
    const { conditions } = parseRequestConditions(this.requested, this.call.request, this.space.structure);
    return { conditions, populate: null, counted: null };
  }

  protected fromMemory({ conditions }: CountReadPlan): Uint8Array | null {
    const found = this.deps.reader.countNow(this.space, conditions);
    return found === null ? null : countJson(found);
  }

  protected async fromEngine(plan: CountReadPlan, cache: KeptResults): Promise<HttpResponse> {
    if (this.space.missing) return jsonAnswer(countJson(0), this.headers);
    const found = this.mayCache(plan) ? await this.shared(plan, cache) : await this.read(plan);
    return jsonAnswer(found as Uint8Array, this.headers);
  }

  protected async read({ conditions }: CountReadPlan): Promise<Uint8Array> {
    const { signal } = this.call.request;
    return countJson(await this.deps.reader.count(this.space, signal, conditions));
  }
}

function countJson(count: number): Uint8Array {
  return Buffer.from(JSON.stringify({ count }));
}
