import { continueWith } from '#kernel/limits/continue-with.ts';
import { atHand, type List } from '#records/at-hand.ts';
import type { Conditions } from '#records/input/parse-conditions.ts';
import type { NextPage } from '#records/next-page.ts';
import type { KeptResults } from '#records/store/kept-results.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import type { HttpResponse } from '#server/http/http-types.ts';
import { jsonAnswer } from './json-answer.ts';
import { nextHeaders } from './next-headers.ts';
import type { OperationCall, OperationDeps } from './operation.ts';
import type { Populate } from './populate.ts';
import type { Timing } from './timing.ts';

export interface CachedCall {
  readonly call: OperationCall;
  readonly deps: Pick<OperationDeps, 'store'>;
  readonly space: RecordSpace;
  /** The operation and its question, as it came. */
  readonly asked: string;
  /** Of the answer. */
  readonly headers: Readonly<Record<string, string>>;
}

const totalHeader = 'sluice-total-count';

/** The headers of full pages, which say where the next one begins; null: there is none. The request's text decides them. */
const headersOfPages = new WeakMap<Uint8Array, CachedCall['headers'] | null>();

/** A request that was read. */
export interface Reading<Result> {
  /** Null: any write to the space may change the result. */
  readonly conditions: Conditions | null;
  /** Null: it has records of the space alone. An answer with others is not kept: writes to their spaces are not announced here. */
  readonly populate: Promise<Populate> | null;
  /** How many records there are on all pages; null: nobody asks. An answer with it is not kept. */
  readonly total: (() => Promise<number>) | null;
  /** Absent or null: no page is asked for. */
  readonly next?: NextPage | null;
  /** The answer, if rows in memory can give it; null: they can't. */
  readonly now: () => Uint8Array | null;
  readonly read: () => Promise<Result>;
}

/**
 * A kept answer, or one from rows in memory, or one that is read.
 * @param prepare reads the request; it throws the request's problems
 */
function answerOf<Result>(
  cached: CachedCall,
  prepare: () => Reading<Result>,
  read: (cache: KeptResults, key: string, reading: Reading<Result>) => Promise<HttpResponse>,
): HttpResponse | Promise<HttpResponse> {
  const { call, deps, space, asked } = cached;
  const { request } = call;
  // how long it took, and how, says something of records that rules hide
  const timing = space.bound === undefined ? call.timing : null;
  // a repeated question is answered by its text, without reading it again
  const key = `${asked} ${request.header('options') ?? ''}`;
  timing?.begin();
  return continueWith(deps.store.results.at(space, key), (cache) => {
    const kept = cache.get(space, key);
    timing?.add('cache');
    if (kept !== undefined) return timedBy(timing, jsonAnswer(kept, keptHeaders(cached, key, kept, prepare)));
    const reading = prepare();
    timing?.add('parse');
    const now = reading.populate === null && !space.missing ? reading.now() : null;
    timing?.add('cache');
    if (now !== null && reading.total === null) {
      cache.keep(space, key, reading.conditions, now);
      return timedBy(timing, jsonAnswer(now, pageHeaders(cached, reading, now)));
    }
    if (timing === null && reading.total === null) return read(cache, key, reading);
    return withTotal(reading, () =>
      now === null ? read(cache, key, reading) : jsonAnswer(now, pageHeaders(cached, reading, now)),
    ).then((response) => {
      timing?.add('engine');
      return timedBy(timing, response);
    });
  });
}

/** Headers of the answer, with the place of the next page behind a full one. */
function pageHeaders(
  { call, headers }: CachedCall,
  { next }: Pick<Reading<unknown>, 'next'>,
  list: List,
): CachedCall['headers'] {
  if (!next) return headers;
  const cursor = next.cursorOf(list);
  const own = cursor === null ? null : { ...headers, ...nextHeaders(call.request, cursor) };
  if (list instanceof Uint8Array) headersOfPages.set(list, own);
  return own ?? headers;
}

/** The same of a kept answer. @param key the text of the request */
function keptHeaders(
  cached: CachedCall,
  key: string,
  kept: Uint8Array,
  prepare: () => Reading<unknown>,
): CachedCall['headers'] {
  if (!key.includes('limit')) return cached.headers;
  const known = headersOfPages.get(kept);
  if (known !== undefined) return known ?? cached.headers;
  const headers = pageHeaders(cached, prepare(), kept);
  if (headers === cached.headers) headersOfPages.set(kept, null);
  return headers;
}

function timedBy(timing: Timing | null, response: HttpResponse): HttpResponse {
  return timing === null ? response : { ...response, headers: { ...response.headers, ...timing.headers } };
}

async function withTotal(
  { populate, total }: Pick<Reading<unknown>, 'populate' | 'total'>,
  answer: () => HttpResponse | Promise<HttpResponse>,
): Promise<HttpResponse> {
  if (total === null) return answer();
  // its refusals come first
  await populate;
  const records = await total();
  const response = await answer();
  return { ...response, headers: { ...response.headers, [totalHeader]: String(records) } };
}

/** Whether it depends on hashes, which are compared each time. */
function isChecked(conditions: Conditions | null): boolean {
  return conditions !== null && conditions.hashed.length > 0;
}

/** Answers with bytes that are read of a space also where it does not exist. */
export function cachedBytes(
  call: CachedCall,
  prepare: () => Reading<Uint8Array>,
): HttpResponse | Promise<HttpResponse> {
  const { space, headers } = call;
  return answerOf(call, prepare, async (cache, key, { conditions, read }) => {
    if (space.missing || isChecked(conditions)) return jsonAnswer(await read(), headers);
    return jsonAnswer((await cache.load(space, key, conditions, read)) as Uint8Array, headers);
  });
}

/** Answers with one record, or `null`. */
export function cachedRecord(
  call: CachedCall,
  prepare: () => Reading<string | null>,
): HttpResponse | Promise<HttpResponse> {
  const { space, headers } = call;
  return answerOf(call, prepare, async (cache, key, { conditions, populate, total, read }) => {
    const populated = await populate;
    if (space.missing) return jsonAnswer('null', headers);
    if (populated !== null) return jsonAnswer((await populated.one(await read())) ?? 'null', headers);
    if (total !== null || isChecked(conditions)) return jsonAnswer((await read()) ?? 'null', headers);
    const result = await cache.load(space, key, conditions, async () =>
      Buffer.from((await read()) ?? 'null'),
    );
    return jsonAnswer(result as Uint8Array, headers);
  });
}

/** The same for a list, which is streamed when it is too large to be kept. */
export function cachedList(
  call: CachedCall,
  prepare: () => Reading<List>,
): HttpResponse | Promise<HttpResponse> {
  const { space, headers } = call;
  return answerOf(call, prepare, async (cache, key, reading) => {
    const { conditions, populate, total, read } = reading;
    const populated = await populate;
    if (space.missing) return jsonAnswer('[]', headers);
    const answer = (list: List, shown = list) => jsonList(shown, pageHeaders(call, reading, list));
    if (populated !== null) {
      const list = await read();
      return answer(list, populated.list(inPieces(list)));
    }
    if (cache.largest === 0 || total !== null || isChecked(conditions)) return answer(await read());
    let large: List | null = null;
    const result = await cache.load(space, key, conditions, async () => {
      const begun = await atHand(await read(), cache.largest);
      if (begun instanceof Uint8Array && begun.byteLength <= cache.largest) return begun;
      large = begun;
      return null;
    });
    return answer(result ?? large ?? (await read()));
  });
}

function jsonList(list: List, headers: CachedCall['headers']): HttpResponse {
  return list instanceof Uint8Array
    ? jsonAnswer(list, headers)
    : { status: 200, headers, body: { chunks: list } };
}

async function* inPieces(list: List): AsyncGenerator<Uint8Array> {
  if (list instanceof Uint8Array) yield list;
  else yield* list;
}
