import { once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { CommandError } from '#kernel/errors/command-error.ts';

/** Milliseconds without a byte in either direction, after which a call is given up. */
const longestSilence = 60_000;
/** Attempts of a call, and the waits between them: half a second, and then twice the last one. Milliseconds. */
const mostAttempts = 9;
const firstWait = 500;
const longestWait = 30_000;
const longestAsked = 120_000;
/** Bytes of an answer that is read as a whole. */
const largestAnswer = 16 * 1024 * 1024;

/** Transient statuses, worth another attempt: RFC 9110 sections 15.5.9 and 15.6, RFC 6585 section 4. */
const passing = new Set([408, 429, 502, 503, 504]);
const network =
  /^(?:E(?:CONN|PIPE|TIMEDOUT|AI_AGAIN|HOSTUNREACH|NETUNREACH|NETDOWN)|HPE_|ERR_STREAM_PREMATURE)/;

/** A transfer that another attempt may bring to its end. */
export class CutTransfer extends Error {}

/** An answer with an error of the server. */
export class RefusedCall extends CommandError {
  readonly status: number;
  /** Milliseconds that the server asks to wait for; undefined: it says nothing. */
  readonly retryAfter: number | undefined;

  constructor(message: string, status: number, retryAfter: number | undefined) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

export interface Call {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | number>>;
  /** Made anew for each attempt. */
  readonly body?: () => Readable | string;
  /** Milliseconds; absent: a minute. */
  readonly silence?: number;
}

/** A Sluice server, seen by its HTTP API. Calls are sent again while the server is away or asks to wait. */
export class RemoteServer {
  /** Without a slash at its end. */
  readonly url: string;
  readonly signal: AbortSignal;
  readonly #token: string;
  readonly #warn: (text: string) => void;

  /** @param args.warn says why a call is sent again */
  constructor(args: { url: string; token: string; signal: AbortSignal; warn: (text: string) => void }) {
    if (!/^https?:\/\//.test(args.url) || !URL.canParse(args.url))
      throw new CommandError(`${args.url} is not an http or https address`);
    this.url = args.url.replace(/\/+$/, '');
    this.signal = args.signal;
    this.#token = args.token;
    this.#warn = args.warn;
  }

  /** @param path with a slash at its start @param read takes the answer; it is called again when that was cut */
  async call<Result>(
    path: string,
    call: Call,
    read: (answer: IncomingMessage) => Promise<Result>,
  ): Promise<Result> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#once(path, call, read);
      } catch (error) {
        this.signal.throwIfAborted();
        const wait = waitAfter(error, attempt);
        const { message } = error as Error;
        if (wait === null) throw isNetwork(error) ? new CommandError(`${this.url}: ${message}`) : error;
        this.#warn(`${message}; attempt ${attempt + 1} follows in ${wait / 1000} s`);
        await sleep(wait, undefined, { signal: this.signal }).catch(() => this.signal.throwIfAborted());
      }
    }
  }

  /** @returns the body as JSON; null: the answer is 404 */
  async find<Answer>(path: string): Promise<Answer | null> {
    try {
      return await this.json<Answer>(path);
    } catch (error) {
      if (error instanceof RefusedCall && error.status === 404) return null;
      throw error;
    }
  }

  async json<Answer>(path: string, call: Call = {}): Promise<Answer> {
    const text = await this.call(path, call, (answer) => textOf(answer));
    return (text === '' ? null : JSON.parse(text)) as Answer;
  }

  /** All items of a list that comes in pages. @param path with `?` or `&` at its end */
  async *list<Item>(path: string, key: string): AsyncGenerator<Item> {
    for (let after: string | null = ''; after !== null; ) {
      const from: string = after === '' ? '' : `&after=${encodeURIComponent(after)}`;
      const page: { readonly [key: string]: unknown } = await this.json(`${path}limit=100${from}`);
      yield* page[key] as Item[];
      after = page.next as string | null;
    }
  }

  async #once<Result>(
    path: string,
    { method = 'GET', headers = {}, body, silence = longestSilence }: Call,
    read: (answer: IncomingMessage) => Promise<Result>,
  ): Promise<Result> {
    const { request: begin } = this.url.startsWith('https:') ? https : http;
    const request = begin(this.url, {
      // as it is: a URL would lose a slug of two dots
      path: new URL(this.url).pathname.replace(/\/$/, '') + path,
      method,
      headers: { authorization: `Bearer ${this.#token}`, ...headers },
      signal: this.signal,
    });
    let answer: IncomingMessage | undefined;
    request.setTimeout(silence, () => {
      const error = new CutTransfer(`${method} ${path}: no byte came for ${silence / 1000} s`);
      (answer ?? request).destroy(error);
    });
    const answered = once(request, 'response') as Promise<[IncomingMessage]>;
    // after the answer nobody else listens
    request.on('error', () => {});
    const content = body?.();
    // its failure is one of the request, or comes after an answer
    if (typeof content === 'object') pipeline(content, request).catch((error) => request.destroy(error));
    else request.end(content);
    try {
      [answer] = await answered;
      const { statusCode: status = 0 } = answer;
      if (status >= 200 && status < 300) return await read(answer);
      throw await refusal(`${method} ${path}`, answer);
    } finally {
      request.setTimeout(0);
      if (!request.writableFinished || answer?.complete === false) request.destroy();
    }
  }
}

async function refusal(what: string, answer: IncomingMessage): Promise<RefusedCall> {
  const { statusCode: status = 0, headers } = answer;
  const text = await textOf(answer);
  let message = text.slice(0, 200);
  try {
    message = String((JSON.parse(text) as { message?: unknown }).message);
  } catch {
    // of a proxy: no JSON
  }
  const seconds = Number(headers['retry-after']);
  const retryAfter = headers['retry-after'] && seconds >= 0 ? seconds * 1000 : undefined;
  return new RefusedCall(`${what}: ${status} ${message}`.trim(), status, retryAfter);
}

async function textOf(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    size += chunk.byteLength;
    if (size > largestAnswer) throw new CommandError('the answer is too long: is this a Sluice server?');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function isNetwork(error: unknown): boolean {
  return error instanceof CutTransfer || network.test(String((error as NodeJS.ErrnoException).code));
}

/** Milliseconds until the next attempt; null: there is none. */
function waitAfter(error: unknown, attempt: number): number | null {
  const usual = Math.min(firstWait * 2 ** (attempt - 1), longestWait);
  if (attempt >= mostAttempts) return null;
  if (!(error instanceof RefusedCall)) return isNetwork(error) ? usual : null;
  const { status, retryAfter } = error;
  const passes = passing.has(status) || (status === 409 && retryAfter !== undefined);
  return passes ? Math.max(usual, Math.min(retryAfter ?? 0, longestAsked)) : null;
}
