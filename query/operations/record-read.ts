import type { ReadPlan } from '#records/input/read-plan.ts';
import type { KeptResults } from '#records/store/kept-results.ts';
import type { HttpResponse } from '#server/http/http-types.ts';
import { CachedRead, type CachedReadPlan } from './cached-read.ts';
import { jsonAnswer } from './json-answer.ts';

export interface RecordPlan extends CachedReadPlan {
  readonly read: ReadPlan;
}

/** Answers with one record, or `null`. */
export abstract class RecordRead extends CachedRead<RecordPlan> {
  protected fromMemory({ read }: RecordPlan): Uint8Array | null {
    return this.deps.reader.firstNow(this.space, read);
  }

  protected async fromEngine(plan: RecordPlan, cache: KeptResults): Promise<HttpResponse> {
    const { space, headers } = this;
    const populated = await plan.populate;
    if (space.missing) return jsonAnswer('null', headers);
    if (populated !== null)
      return jsonAnswer((await populated.one(await this.#first(plan))) ?? 'null', headers);
    if (!this.mayCache(plan)) return jsonAnswer((await this.#first(plan)) ?? 'null', headers);
    return jsonAnswer((await this.shared(plan, cache)) as Uint8Array, headers);
  }

  protected async read(plan: RecordPlan): Promise<Uint8Array> {
    return Buffer.from((await this.#first(plan)) ?? 'null');
  }

  #first({ read }: RecordPlan): Promise<string | null> {
    return this.deps.reader.first(this.space, read, this.call.request.signal);
  }
}
