import {
  type FindOptions,
  findBody,
  pathOf,
  readersOf,
  replacerOf,
  revived,
  structureHeader,
} from './ask.ts';
import { type Call, type Client, notSluice, SluiceError, send, sleep } from './client.ts';
import { serverEvents } from './server-events.ts';
import type { Fields, Selectable, Selected, Space } from './space.ts';

/** The records of a live query, and the latest change (docs/live.md). */
export type LiveEvent<Value> = { readonly records: ReadonlyMap<string, Value> } & (
  | { readonly type: 'ready'; readonly id?: undefined; readonly record?: undefined }
  | { readonly type: 'enter' | 'change'; readonly id: string; readonly record: Value }
  | { readonly type: 'leave'; readonly id: string; readonly record?: undefined }
);
export type LiveOptions<Of extends Fields, Select extends Selectable<Of> = never> = Pick<
  FindOptions<Of, Select>,
  'where' | 'select' | 'limit' | 'signal'
>;

/** Milliseconds without a byte after which a connection counts as cut: the service sends something every 15 s. */
const patience = 40_000;
const longestWait = 30_000;
/** Statuses for which a retry is of no use. */
const isFinal = /^4(?!08|29)|501/;

/**
 * A find that stays open. It yields all records once they are complete, and again after each change. After a cut it
 * reconnects and resumes. It rejects if the service refuses the find; `return()` closes it.
 */
export function live<Of extends Fields, const Select extends Selectable<Of> = never>(
  client: Client,
  space: Space<Of>,
  options: LiveOptions<Of, Select> = {},
): AsyncIterableIterator<LiveEvent<Selected<Of, Select>>, void, undefined> {
  const { signal } = options;
  const closing = new AbortController();
  const close = (): void => closing.abort();
  const steps = watch<Selected<Of, Select>>(client, space, options, closing.signal);
  signal?.addEventListener('abort', close);
  const next = async () => {
    if (signal?.aborted) close();
    const step = await steps.next();
    if (step.done) {
      signal?.removeEventListener('abort', close);
      signal?.throwIfAborted();
    }
    return step;
  };
  return {
    next,
    // a generator's own `return` would wait for its next event
    return: () => {
      signal?.removeEventListener('abort', close);
      close();
      return steps.return();
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

async function* watch<Value>(
  client: Client,
  space: Space,
  options: LiveOptions<Fields, string>,
  closing: AbortSignal,
): AsyncGenerator<LiveEvent<Value>, void, undefined> {
  const body = findBody(options);
  const readers = readersOf(space);
  const replacer = replacerOf(space);
  let records = new Map<string, Value>();
  let last = '';
  let retry = 1000;
  let failures = 0;
  let wasReady = false;
  let isReady = false;
  while (!closing.aborted) {
    let wait = 0;
    const connection = new Connection(closing);
    try {
      const headers = { structure: structureHeader(client, space), ...(last && { 'last-event-id': last }) };
      const call = {
        path: `${pathOf(client, space.slug)}/_find_`,
        body,
        replacer,
        headers,
        repeatable: !wasReady,
      };
      for await (const { id, event, data, retry: after } of connection.events(client, call)) {
        if (after) retry = Number(after);
        if (!data) continue;
        last = id ?? last;
        const value = revived(readers, JSON.parse(data));
        if (event === 'reset') {
          records = new Map();
          isReady = false;
        } else if (event === 'leave') records.delete(value.id);
        else if (event === 'ready') {
          wasReady = isReady = true;
          failures = 0;
        } else for (const one of [value].flat()) records.set(one.id, one);
        const record = event === 'enter' || event === 'change' ? value : undefined;
        if (isReady) yield { type: event, records, id: value.id, record } as LiveEvent<Value>;
      }
    } catch (error) {
      if (error instanceof SluiceError) {
        if (!wasReady || isFinal.test(`${error.status}`)) throw error;
        wait = error.retryAfter ?? 0;
      }
    } finally {
      connection.close();
    }
    wait = Math.max(wait, Math.min(longestWait, retry * 2 ** failures++));
    await sleep(wait * (1 + Math.random() / 4), closing).catch(() => {});
  }
}

/** One answer of the service, until it ends, stalls or is closed. */
class Connection {
  readonly #cut = new AbortController();
  readonly #closing: AbortSignal;

  constructor(closing: AbortSignal) {
    this.#closing = closing;
    closing.addEventListener('abort', this.close);
  }

  readonly close = (): void => {
    this.#closing.removeEventListener('abort', this.close);
    this.#cut.abort();
  };

  async *events(client: Client, call: Omit<Call, 'method'>): ReturnType<typeof serverEvents> {
    const { signal } = this.#cut;
    const headers = { ...call.headers, accept: 'text/event-stream' };
    const answer = await this.#patiently(send(client, { ...call, method: 'POST', headers, signal }));
    if (!answer.headers.get('content-type')?.includes('event-stream')) throw notSluice(answer.status);
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
    yield* serverEvents(() => this.#patiently(reader.read()));
  }

  async #patiently<Result>(work: Promise<Result>): Promise<Result> {
    const timer = setTimeout(this.close, patience);
    return work.finally(() => clearTimeout(timer));
  }
}
