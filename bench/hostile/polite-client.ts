import { setTimeout as sleep } from 'node:timers/promises';
import { textStructure } from '../query/direct-store.ts';

/** Rates of the well-behaved client's requests. Per second. */
const rates = { healthz: 10, insertOne: 10, findOne: 10, find: 2, upload: 4, download: 2 } as const;
export type PoliteRequest = keyof typeof rates;
export const politeRequests = Object.keys(rates) as PoliteRequest[];

/** Milliseconds by request, and failures. */
export interface PoliteResult {
  readonly times: Record<PoliteRequest, number[]>;
  /** Of all requests, in the order in which they were answered. */
  readonly inOrder: number[];
  readonly failures: string[];
}

const deadline = 30_000;

/** Requests that need a store, each in proportion to its rate. */
const mix = politeRequests
  .filter((name) => name !== 'healthz')
  .flatMap((name) => Array.from({ length: rates[name] }, () => name));

function anyOfMix(): PoliteRequest {
  return mix[Math.floor(Math.random() * mix.length)] as PoliteRequest;
}

/** A client with its own account, which checks every answer. */
export class PoliteClient {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  readonly #content = Buffer.alloc(64 * 1024, 'polite ');
  #notes = 0;
  /** Acknowledged notes. */
  readonly #stored: string[] = [];
  #file: string | null = null;

  constructor(args: { url: string; token: string }) {
    this.#url = args.url;
    this.#headers = { authorization: `Bearer ${args.token}`, structure: textStructure('notes', 'polite') };
  }

  /** Sends the next request that needs a store, in proportion to the rates. @returns `answered`, or how it failed */
  async sendAny(): Promise<string> {
    const name = this.#stored.length === 0 ? 'insertOne' : this.#file === null ? 'upload' : anyOfMix();
    return await this.#send(name).then(
      () => 'answered',
      (error: Error) => error.message.slice(0, 80),
    );
  }

  /** Sends requests at their rates for this long. @param seconds at least 1 */
  async run(seconds: number): Promise<PoliteResult> {
    const times = Object.fromEntries(politeRequests.map((name) => [name, [] as number[]]));
    const result: PoliteResult = { times: times as PoliteResult['times'], inOrder: [], failures: [] };
    await this.#once('insertOne', result);
    await this.#once('upload', result);
    const end = performance.now() + seconds * 1000;
    await Promise.all(politeRequests.map((name) => this.#again(name, end, result)));
    return result;
  }

  /** Sends a request at its rate, however long the answers take. */
  async #again(name: PoliteRequest, end: number, result: PoliteResult): Promise<void> {
    const underWay = new Set<Promise<void>>();
    for (let next = performance.now(); next < end; next += 1000 / rates[name]) {
      await sleep(Math.max(0, next - performance.now()));
      const one = this.#once(name, result).finally(() => underWay.delete(one));
      underWay.add(one);
    }
    await Promise.all(underWay);
  }

  async #once(name: PoliteRequest, { times, inOrder, failures }: PoliteResult): Promise<void> {
    const began = performance.now();
    try {
      await this.#send(name);
      const taken = performance.now() - began;
      times[name].push(taken);
      inOrder.push(taken);
    } catch (error) {
      const { message, cause } = error as Error;
      failures.push(`${name}: ${message} ${cause instanceof Error ? cause.message : ''}`);
    }
  }

  async #send(name: PoliteRequest): Promise<void> {
    switch (name) {
      case 'healthz':
        await this.#ask('/healthz');
        return;
      case 'insertOne': {
        const text = `note ${this.#notes++}`;
        const body = JSON.stringify({ text });
        const headers = { 'content-type': 'application/json' };
        await this.#ask('/polite/notes/_single_', { method: 'POST', body, headers });
        this.#stored.push(text);
        return;
      }
      case 'findOne': {
        const text = this.#stored[Math.floor(Math.random() * this.#stored.length)] as string;
        const query = `text=${encodeURIComponent(text)}`;
        const found = JSON.parse((await this.#ask(`/polite/notes/_single_?${query}`)).toString()) as {
          text?: string;
        } | null;
        if (found?.text !== text) throw new Error(`answered ${JSON.stringify(found)}`);
        return;
      }
      case 'find': {
        const options = '{"pagination":{"limit":50,"page":1}}';
        const found = JSON.parse((await this.#ask('/polite/notes', { headers: { options } })).toString());
        if (!Array.isArray(found) || found.length === 0) throw new Error('found nothing');
        return;
      }
      case 'upload': {
        const body = new FormData();
        body.set('file', new File([this.#content], 'polite.bin'));
        const stored = JSON.parse(
          (await this.#ask('/_f_/polite/upload', { method: 'POST', body })).toString(),
        ) as { name: string };
        this.#file = stored.name;
        return;
      }
      case 'download': {
        const bytes = await this.#ask(`/_f_/polite/${this.#file}`);
        if (!bytes.equals(this.#content)) throw new Error('the file is another one');
      }
    }
  }

  async #ask(
    path: string,
    init: { method?: string; body?: string | FormData; headers?: Record<string, string> } = {},
  ): Promise<Buffer> {
    const headers = { ...this.#headers, ...init.headers };
    const answer = await fetch(this.#url + path, { ...init, headers, signal: AbortSignal.timeout(deadline) });
    const bytes = Buffer.from(await answer.arrayBuffer());
    if (answer.status !== 200) throw new Error(`${answer.status} ${bytes.toString('utf8', 0, 300)}`);
    return bytes;
  }
}
