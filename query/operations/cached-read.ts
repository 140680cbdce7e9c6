import type { Conditions } from '#records/input/parse-conditions.ts';
import type { ReadPlan } from '#records/input/read-plan.ts';
import type { KeptResults } from '#records/store/kept-results.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import type { HttpResponse } from '#server/http/http-types.ts';
import { type RequestConditions, readRequestConditions } from '../input/request-conditions.ts';
import { jsonAnswer, queryableJson } from './json-answer.ts';
import type { OperationCall, QueryParts } from './operation.ts';
import type { Populate } from './populate.ts';
import type { Timing } from './timing.ts';

export type AnswerHeaders = Readonly<Record<string, string>>;

/** A parsed request. */
export interface CachedReadPlan {
  /** Null: any write to the space may change the answer. */
  readonly conditions: Conditions | null;
  /** Null: the answer has only records of the space. Otherwise it is not cached: writes to other spaces don't invalidate it. */
  readonly populate: Promise<Populate> | null;
  /** Counts the matches on all pages; null: no count. An answer with a count is not cached. */
  readonly counted: ReadPlan | null;
}

const totalHeader = 'sluice-total-count';

/**
 * One request that reads a space. The first of three sources that has the answer gives it: the cache of answers, rows in
 * memory (`fromMemory`), the engine (`fromEngine`). A subclass parses its request (`plan`) and reads; this class decides the
 * order.
 */
export abstract class CachedRead<Plan extends CachedReadPlan> {
  /** Part of the cache key: requests for other operations may have the same text. */
  protected abstract readonly operation: string;
  /** Headers of the answer; by default JSON, with Accept-Query. */
  protected readonly headers: AnswerHeaders = queryableJson;
  protected readonly call: OperationCall;
  protected readonly deps: QueryParts;
  // `answer` sets these, in this order
  protected space!: RecordSpace;
  protected requested!: RequestConditions;
  /** The text of the request. A repeated request is answered by it, without being parsed again. */
  protected key!: string;

  constructor(call: OperationCall, deps: QueryParts) {
    this.call = call;
    this.deps = deps;
  }

  /** Reads the conditions, without parsing them. */
  protected readConditions(): RequestConditions | Promise<RequestConditions> {
    return readRequestConditions(this.call.request, this.call.body);
  }

  /** Parses the request. Throws a 400 that lists its problems. */
  protected abstract plan(): Plan;

  /** The answer from rows in memory; null: they can't give it. */
  protected abstract fromMemory(plan: Plan): Uint8Array | null;

  /** The answer from the engine, cached where that is allowed. */
  protected abstract fromEngine(plan: Plan, cache: KeptResults): Promise<HttpResponse>;

  /** Reads the result from the engine. Null: it is too large for the cache. */
  protected abstract read(plan: Plan, largest: number): Promise<Uint8Array | null>;

  /** Reads the result once for all concurrent requests, and caches it. */
  protected async shared(plan: Plan, cache: KeptResults): Promise<Uint8Array | null> {
    const underway = cache.underway(this.space, this.key);
    if (underway === null)
      return cache.share(this.space, this.key, plan.conditions, this.read(plan, cache.largest));
    // the client of the other request may disconnect
    const result = await underway.catch(() => null);
    return result ?? this.read(plan, cache.largest);
  }

  /** Headers of a fresh answer. */
  protected headersOf(_plan: Plan, _answer: Uint8Array): AnswerHeaders {
    return this.headers;
  }

  /** Headers of a cached answer. */
  protected cachedHeaders(_answer: Uint8Array): AnswerHeaders {
    return this.headers;
  }

  /** Opens the space and answers. Returns a promise only if it has to wait. */
  answer(): HttpResponse | Promise<HttpResponse> {
    const space = this.call.open();
    return space instanceof Promise ? space.then((opened) => this.#answerIn(opened)) : this.#answerIn(space);
  }

  #answerIn(space: RecordSpace): HttpResponse | Promise<HttpResponse> {
    this.space = space;
    const requested = this.readConditions();
    return requested instanceof Promise
      ? requested.then((conditions) => this.#answerTo(conditions))
      : this.#answerTo(requested);
  }

  #answerTo(requested: RequestConditions): HttpResponse | Promise<HttpResponse> {
    this.requested = requested;
    this.key = `${this.operation} ${requested.key} ${this.call.request.header('options') ?? ''}`;
    const timing = this.#timing;
    timing?.begin();
    const cache = this.deps.store.results.at(this.space, this.key);
    return cache instanceof Promise
      ? cache.then((results) => this.#answerFrom(results, timing))
      : this.#answerFrom(cache, timing);
  }

  /** Null for bound requests: timing and source would reveal something about records that rules hide. */
  get #timing(): Timing | null {
    return this.space.bound === undefined ? this.call.timing : null;
  }

  #answerFrom(cache: KeptResults, timing: Timing | null): HttpResponse | Promise<HttpResponse> {
    const cached = cache.get(this.space, this.key);
    timing?.add('cache');
    if (cached !== undefined) return withTiming(timing, jsonAnswer(cached, this.cachedHeaders(cached)));
    const plan = this.plan();
    timing?.add('parse');
    const found = plan.populate === null && !this.space.missing ? this.fromMemory(plan) : null;
    timing?.add('cache');
    if (found !== null && plan.counted === null) {
      cache.keep(this.space, this.key, plan.conditions, found);
      return withTiming(timing, jsonAnswer(found, this.headersOf(plan, found)));
    }
    if (timing === null && plan.counted === null) return this.fromEngine(plan, cache);
    return this.#answerLater(plan, cache, found).then((response) => {
      timing?.add('engine');
      return withTiming(timing, response);
    });
  }

  async #answerLater(plan: Plan, cache: KeptResults, found: Uint8Array | null): Promise<HttpResponse> {
    let total: number | null = null;
    if (plan.counted !== null) {
      // a refused `populate` is answered before the count runs
      await plan.populate;
      total = await this.deps.reader.total(this.space, plan.counted, this.call.request.signal);
    }
    const response =
      found === null ? await this.fromEngine(plan, cache) : jsonAnswer(found, this.headersOf(plan, found));
    if (total === null) return response;
    return { ...response, headers: { ...response.headers, [totalHeader]: String(total) } };
  }

  /** Whether an answer from the engine may be cached. Comparisons with hashes run each time. */
  protected mayCache({ conditions, populate, counted }: Plan): boolean {
    return populate === null && counted === null && (conditions === null || conditions.hashed.length === 0);
  }
}

function withTiming(timing: Timing | null, response: HttpResponse): HttpResponse {
  return timing === null ? response : { ...response, headers: { ...response.headers, ...timing.headers } };
}
