import type { Conditions } from '#records/input/parse-conditions.ts';
import type { ReadPlan } from '#records/input/read-plan.ts';
import type { KeptResults } from '#records/store/kept-results.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import type { HttpResponse } from '#server/http/http-types.ts';
import { type AskedConditions, askedConditions } from '../input/asked-conditions.ts';
import { jsonAnswer, queryableJson } from './json-answer.ts';
import type { OperationCall, QueryParts } from './operation.ts';
import type { Populate } from './populate.ts';
import type { Timing } from './timing.ts';

export type AnswerHeaders = Readonly<Record<string, string>>;

/** What a request wants, once it was parsed. */
export interface KeptPlan {
  /** Null: any write to the space may change the answer. */
  readonly conditions: Conditions | null;
  /** Null: the answer has records of the space alone. With others it is not kept: writes to their spaces are not announced here. */
  readonly populate: Promise<Populate> | null;
  /** The plan whose matches are counted on all pages; null: nobody asks. An answer with the number is not kept. */
  readonly counted: ReadPlan | null;
}

const totalHeader = 'sluice-total-count';

/**
 * One request that reads a space. It is answered from the first of three that has the answer: what is kept (`kept`), rows in
 * memory (`now`), the engine (`later`). A subclass parses its request (`plan`) and reads; this class decides the order.
 */
export abstract class KeptRead<Plan extends KeptPlan> {
  /** Of the operation: a request for another one may have the same text. */
  protected abstract readonly name: string;
  /** Of the answer. By default those of JSON where QUERY is a method as well. */
  protected readonly headers: AnswerHeaders = queryableJson;
  protected readonly call: OperationCall;
  protected readonly deps: QueryParts;
  // known in this order, once `answer` is called
  protected space!: RecordSpace;
  protected asked!: AskedConditions;
  /** The text of the request: a repeated one is answered by it, without parsing it again. */
  protected key!: string;

  constructor(call: OperationCall, deps: QueryParts) {
    this.call = call;
    this.deps = deps;
  }

  /** The conditions as they came. */
  protected conditions(): AskedConditions | Promise<AskedConditions> {
    return askedConditions(this.call.request, this.call.body);
  }

  /** Parses the request. Throws its problems. */
  protected abstract plan(): Plan;

  /** The answer, if rows in memory can give it; null: they can't. */
  protected abstract now(plan: Plan): Uint8Array | null;

  /** The answer of the engine, which is kept where it may be. */
  protected abstract later(plan: Plan, cache: KeptResults): Promise<HttpResponse>;

  /** The result of the engine. Null: it has more bytes than may be kept. */
  protected abstract read(plan: Plan, largest: number): Promise<Uint8Array | null>;

  /** The same, read once for all requests that ask meanwhile, and kept. */
  protected async shared(plan: Plan, cache: KeptResults): Promise<Uint8Array | null> {
    const underway = cache.underway(this.space, this.key);
    if (underway === null)
      return cache.share(this.space, this.key, plan.conditions, this.read(plan, cache.largest));
    // the client of the other request may go away
    const result = await underway.catch(() => null);
    return result ?? this.read(plan, cache.largest);
  }

  /** Headers of an answer that was just read. */
  protected headersOf(_plan: Plan, _answer: Uint8Array): AnswerHeaders {
    return this.headers;
  }

  /** Headers of an answer that was kept. */
  protected headersOfKept(_answer: Uint8Array): AnswerHeaders {
    return this.headers;
  }

  /** Opens the space, and answers. A promise only where it has to wait. */
  answer(): HttpResponse | Promise<HttpResponse> {
    const space = this.call.open();
    return space instanceof Promise ? space.then((opened) => this.#answerIn(opened)) : this.#answerIn(space);
  }

  #answerIn(space: RecordSpace): HttpResponse | Promise<HttpResponse> {
    this.space = space;
    const asked = this.conditions();
    return asked instanceof Promise ? asked.then((come) => this.#answerTo(come)) : this.#answerTo(asked);
  }

  #answerTo(asked: AskedConditions): HttpResponse | Promise<HttpResponse> {
    this.asked = asked;
    this.key = `${this.name} ${asked.key} ${this.call.request.header('options') ?? ''}`;
    const timing = this.#timing;
    timing?.begin();
    const cache = this.deps.store.results.at(this.space, this.key);
    return cache instanceof Promise
      ? cache.then((results) => this.#answerFrom(results, timing))
      : this.#answerFrom(cache, timing);
  }

  /** How long it took, and how, says something of records that rules hide. */
  get #timing(): Timing | null {
    return this.space.bound === undefined ? this.call.timing : null;
  }

  #answerFrom(cache: KeptResults, timing: Timing | null): HttpResponse | Promise<HttpResponse> {
    const kept = cache.get(this.space, this.key);
    timing?.add('cache');
    if (kept !== undefined) return timedBy(timing, jsonAnswer(kept, this.headersOfKept(kept)));
    const plan = this.plan();
    timing?.add('parse');
    const now = plan.populate === null && !this.space.missing ? this.now(plan) : null;
    timing?.add('cache');
    if (now !== null && plan.counted === null) {
      cache.keep(this.space, this.key, plan.conditions, now);
      return timedBy(timing, jsonAnswer(now, this.headersOf(plan, now)));
    }
    if (timing === null && plan.counted === null) return this.later(plan, cache);
    return this.#countedLater(plan, cache, now).then((response) => {
      timing?.add('engine');
      return timedBy(timing, response);
    });
  }

  async #countedLater(plan: Plan, cache: KeptResults, now: Uint8Array | null): Promise<HttpResponse> {
    let total: number | null = null;
    if (plan.counted !== null) {
      // its refusals come first
      await plan.populate;
      total = await this.deps.reader.total(this.space, plan.counted, this.call.request.signal);
    }
    const response =
      now === null ? await this.later(plan, cache) : jsonAnswer(now, this.headersOf(plan, now));
    if (total === null) return response;
    return { ...response, headers: { ...response.headers, [totalHeader]: String(total) } };
  }

  /** Whether an answer of the engine may be kept. One that depends on hashes is computed each time. */
  protected mayKeep({ conditions, populate, counted }: Plan): boolean {
    return populate === null && counted === null && (conditions === null || conditions.hashed.length === 0);
  }
}

function timedBy(timing: Timing | null, response: HttpResponse): HttpResponse {
  return timing === null ? response : { ...response, headers: { ...response.headers, ...timing.headers } };
}
