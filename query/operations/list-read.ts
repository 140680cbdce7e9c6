import { atHand, type List } from '#records/at-hand.ts';
import type { ReadPlan } from '#records/input/read-plan.ts';
import type { NextPage } from '#records/next-page.ts';
import type { KeptResults } from '#records/store/kept-results.ts';
import type { HttpResponse } from '#server/http/http-types.ts';
import { type AnswerHeaders, CachedRead, type CachedReadPlan } from './cached-read.ts';
import { jsonAnswer } from './json-answer.ts';
import { nextHeaders } from './next-headers.ts';

export interface ListPlan extends CachedReadPlan {
  readonly read: ReadPlan;
  /** Null: the request has no limit. */
  readonly next: NextPage | null;
}

/** Next-page headers of cached answers; null: none. They depend only on the text of the request. */
const headersOfPages = new WeakMap<Uint8Array, AnswerHeaders | null>();

/** Answers with a list of records. A list that is too large for the cache is streamed. */
export abstract class ListRead extends CachedRead<ListPlan> {
  /** The start of a list that is too large for the cache, and its rest. */
  #large: List | null = null;

  protected fromMemory({ read, next }: ListPlan): Uint8Array | null {
    const list = this.deps.reader.listNow(this.space, read);
    return list === null || next === null ? list : next.shown(list);
  }

  protected async fromEngine(plan: ListPlan, cache: KeptResults): Promise<HttpResponse> {
    const { space } = this;
    const populated = await plan.populate;
    if (space.missing) return jsonAnswer('[]', this.headers);
    if (populated !== null) {
      const list = await this.#list(plan);
      return jsonList(populated.list(inPieces(list)), this.#pageHeaders(plan, list));
    }
    if (cache.largest === 0 || !this.mayCache(plan)) return this.#answerOf(plan, await this.#list(plan));
    const result = await this.shared(plan, cache);
    return this.#answerOf(plan, result ?? this.#large ?? (await this.#list(plan)));
  }

  protected async read(plan: ListPlan, largest: number): Promise<Uint8Array | null> {
    const start = await atHand(await this.#list(plan), largest);
    if (start instanceof Uint8Array && start.byteLength <= largest) return start;
    this.#large = start;
    return null;
  }

  protected override headersOf(plan: ListPlan, list: Uint8Array): AnswerHeaders {
    return this.#pageHeaders(plan, list);
  }

  protected override cachedHeaders(list: Uint8Array): AnswerHeaders {
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

  /** After a full page, the headers say where the next page begins. */
  #pageHeaders({ next }: ListPlan, list: List): AnswerHeaders {
    if (next === null) return this.headers;
    const cursor = next.cursorOf(list);
    const paged =
      cursor === null ? null : { ...this.headers, ...nextHeaders(this.call.request, next, cursor) };
    if (list instanceof Uint8Array) headersOfPages.set(list, paged);
    return paged ?? this.headers;
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
