import type { ReadPlan } from '#records/input/read-plan.ts';
import type { KeptResults } from '#records/store/kept-results.ts';
import type { HttpResponse } from '#server/http/http-types.ts';
import { jsonAnswer } from './json-answer.ts';
import { type KeptPlan, KeptRead } from './kept-read.ts';

export interface RecordPlan extends KeptPlan {
  readonly read: ReadPlan;
}

/** Answers with one record, or `null`. */
export abstract class RecordRead extends KeptRead<RecordPlan> {
  protected now({ read }: RecordPlan): Uint8Array | null {
    return this.deps.reader.firstNow(this.space, read);
  }

  protected async later(plan: RecordPlan, cache: KeptResults): Promise<HttpResponse> {
    const { space, headers } = this;
    const populated = await plan.populate;
    if (space.missing) return jsonAnswer('null', headers);
    if (populated !== null)
      return jsonAnswer((await populated.one(await this.#first(plan))) ?? 'null', headers);
    if (!this.mayKeep(plan)) return jsonAnswer((await this.#first(plan)) ?? 'null', headers);
    return jsonAnswer((await this.shared(plan, cache)) as Uint8Array, headers);
  }

  protected async read(plan: RecordPlan): Promise<Uint8Array> {
    return Buffer.from((await this.#first(plan)) ?? 'null');
  }

  #first({ read }: RecordPlan): Promise<string | null> {
    return this.deps.reader.first(this.space, read, this.call.request.signal);
  }
}
