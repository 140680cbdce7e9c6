import { atHand, type List } from '#records/at-hand.ts';
import type { ReadPlan } from '#records/input/read-plan.ts';
import type { NextPage } from '#records/next-page.ts';
import type { KeptResults } from '#records/store/kept-results.ts';
import type { HttpResponse } from '#server/http/http-types.ts';
import { jsonAnswer } from './json-answer.ts';
import { type AnswerHeaders, type KeptPlan, KeptRead } from './kept-read.ts';
import { nextHeaders } from './next-headers.ts';

export interface ListPlan extends KeptPlan {
  readonly read: ReadPlan;
  /** Null: no page is asked for. */
  readonly next: NextPage | null;
}

/** Next-page headers of answers; null: none. They depend on the text of the request alone. */
const headersOfPages = new WeakMap<Uint8Array, AnswerHeaders | null>();

/** Answers with a list of records, which is streamed when it is too large to be kept. */
export abstract class ListRead extends KeptRead<ListPlan> {
  /** A list that is too large to be kept, as far as it was read. */
  #large: List | null = null;

  protected now({ read, next }: ListPlan): Uint8Array | null {
    const list = this.deps.reader.listNow(this.space, read);
    return list === null || next === null ? list : next.shown(list);
  }

  protected async later(plan: ListPlan, cache: KeptResults): Promise<HttpResponse> {
    const { space } = this;
    const populated = await plan.populate;
    if (space.missing) return jsonAnswer('[]', this.headers);
    if (populated !== null) {
      const list = await this.#list(plan);
      return jsonList(populated.list(inPieces(list)), this.#pageHeaders(plan, list));
    }
    if (cache.largest === 0 || !this.mayKeep(plan)) return this.#answerOf(plan, await this.#list(plan));
    const result = await this.shared(plan, cache);
    return this.#answerOf(plan, result ?? this.#large ?? (await this.#list(plan)));
  }

  protected async read(plan: ListPlan, largest: number): Promise<Uint8Array | null> {
    const begun = await atHand(await this.#list(plan), largest);
    if (begun instanceof Uint8Array && begun.byteLength <= largest) return begun;
    this.#large = begun;
    return null;
  }

  protected override headersOf(plan: ListPlan, list: Uint8Array): AnswerHeaders {
    return this.#pageHeaders(plan, list);
  }

  protected override headersOfKept(list: Uint8Array): AnswerHeaders {
    if (!this.key.includes('limit')) return this.headers;
    const known = headersOfPages.get(list);
    if (known !== undefined) return known ?? this.headers;
    const headers = this.#pageHeaders(this.plan(), list);
    if (headers === this.headers) headersOfPages.set(list, null);
    return headers;
  }

  async #list({ read, next }: ListPlan): Promise<List> {
    const list = await this.deps.reader.list(this.space, read, this.call.request.signal);
    return next === null ? list : next.taken(list);
  }

  #answerOf(plan: ListPlan, list: List): HttpResponse {
    return jsonList(list, this.#pageHeaders(plan, list));
  }

  /** With the place of the next page behind a full one. */
  #pageHeaders({ next }: ListPlan, list: List): AnswerHeaders {
    if (next === null) return this.headers;
    const cursor = next.cursorOf(list);
    const own = cursor === null ? null : { ...this.headers, ...nextHeaders(this.call.request, cursor) };
    if (list instanceof Uint8Array) headersOfPages.set(list, own);
    return own ?? this.headers;
  }
}

function jsonList(list: List, headers: AnswerHeaders): HttpResponse {
  return list instanceof Uint8Array
    ? jsonAnswer(list, headers)
    : { status: 200, headers, body: { chunks: list } };
}

async function* inPieces(list: List): AsyncGenerator<Uint8Array> {
  if (list instanceof Uint8Array) yield list;
  else yield* list;
}
