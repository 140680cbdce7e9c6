import type { Readable } from 'node:stream';
import { attemptWith } from '#client/attempt-with.ts';
import { type Call as ClientCall, connect, SluiceError, send } from '#client/client.ts';
import { CommandError } from '#kernel/errors/command-error.ts';
import { joinedProblems } from '#kernel/errors/joined-problems.ts';
import { patientFetch } from './patient-fetch.ts';

/** How long a call may go without a byte in either direction. Milliseconds. */
const longestSilence = 60_000;
/** Their pauses add up to more than a minute, in which a server can be restarted. */
const retries = 8;
/** Most bytes of a buffered answer. */
const largestAnswer = 16 * 1024 * 1024;

/** A transfer broke off; a retry may succeed. */
export class CutTransfer extends Error {}

/** The server answered with an error. */
export class RefusedCall extends CommandError {
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

export interface Call extends Pick<ClientCall, 'headers' | 'body'> {
  readonly method?: string;
  /** Sent instead of JSON. A CommandError of the stream is not retried. */
  readonly bytes?: { readonly size: number; readonly read: () => Readable };
  /** Milliseconds; absent: a minute. */
  readonly silence?: number;
}

/** A Sluice server, through its HTTP API. Calls are retried while the server is down or asks to wait. */
export class RemoteServer {
  /** Without trailing slash. */
  readonly url: string;
  readonly signal: AbortSignal;
  readonly #token: string;
  readonly #warn: (text: string) => void;

  /** @param args.warn reports why a call is retried */
  constructor(args: { url: string; token: string; signal: AbortSignal; warn: (text: string) => void }) {
    if (!/^https?:\/\//.test(args.url) || !URL.canParse(args.url))
      throw new CommandError(`${args.url} is not an http or https address`);
    this.url = args.url.replace(/\/+$/, '');
    this.signal = args.signal;
    this.#token = args.token;
    this.#warn = args.warn;
  }

  /** @param path with a leading slash @param read reads the answer; called again if the answer broke off */
  async call<Result>(
    path: string,
    { method = 'GET', headers, body, bytes, silence = longestSilence }: Call,
    read: (answer: Response) => Promise<Result>,
  ): Promise<Result> {
    const { url } = this;
    const stop = new AbortController();
    const onAbort = (): void => stop.abort(this.signal.reason);
    if (this.signal.aborted) onAbort();
    this.signal.addEventListener('abort', onAbort);
    const client = connect({ url, token: this.#token, project: '', retries, fetch: patientFetch(silence) });
    const said = (failure: SluiceError): string => textOfFailure(`${method} ${path}`, failure, silence);
    const call: ClientCall = {
      method,
      path,
      body,
      signal: stop.signal,
      repeatable: true,
      headers: { ...headers, ...(bytes && { 'content-length': `${bytes.size}` }) },
      // Node.js accepts any iterable
      ...(bytes && attemptWith(() => readOnce(bytes.read, stop) as unknown as ReadableStream)),
      onRetry: (failure, attempt, wait) =>
        this.#warn(`${said(failure)}; attempt ${attempt} follows in ${(wait / 1000).toFixed(1)} s`),
    };
    let broken: { readonly error: unknown } | undefined;
    try {
      return await send(client, call, (answer) =>
        read(answer).catch((error: unknown) => {
          if (error instanceof CutTransfer) throw error;
          // a retry doesn't help against a full disk
          broken = { error };
          throw new SluiceError({ code: 'not_read', status: answer.status, message: 'broken' });
        }),
      );
    } catch (error) {
      if (!(error instanceof SluiceError)) throw error;
      if (broken !== undefined) throw broken.error;
      const text = said(error);
      throw error.status === 0 ? new CommandError(`${url}: ${text}`) : new RefusedCall(text, error.status);
    } finally {
      this.signal.removeEventListener('abort', onAbort);
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
    const text = await this.call(path, call, textOf);
    return (text === '' ? null : JSON.parse(text)) as Answer;
  }

  /** All items of a paginated list. @param path ends with `?` or `&` */
  async *list<Item>(path: string, key: string): AsyncGenerator<Item> {
    for (let after: string | null = ''; after !== null; ) {
      const from: string = after === '' ? '' : `&after=${encodeURIComponent(after)}`;
      const page: { readonly [key: string]: unknown } = await this.json(`${path}limit=100${from}`);
      yield* page[key] as Item[];
      after = page.next as string | null;
    }
  }
}

/** A body. Its own failure, such as a damaged file, ends the call. */
function readOnce(read: () => Readable, stop: AbortController): Readable {
  return read().once('error', (error) => {
    if (error instanceof CommandError) stop.abort(error);
  });
}

/** The bytes of an answer. Throws a CutTransfer if they end too early. */
export async function* bytesOf({ body }: Response): AsyncGenerator<Uint8Array> {
  try {
    if (body !== null) yield* body;
  } catch (cause) {
    throw new CutTransfer('the answer broke off', { cause });
  }
}

async function textOf(answer: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of bytesOf(answer)) {
    size += chunk.byteLength;
    if (size > largestAnswer) throw new CommandError('the answer is too long: is this a Sluice server?');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** The server's error, or the connection's, which is the last cause. */
function textOfFailure(what: string, { status, problems, cause }: SluiceError, silence: number): string {
  if (status !== 0) return `${what}: ${status} ${joinedProblems(problems)}`;
  let last = cause as NodeJS.ErrnoException;
  while (last.cause instanceof Error) last = last.cause;
  const isSilent = /^UND_ERR_(?:HEADERS|BODY)_TIMEOUT$/.test(last.code ?? '');
  return `${what}: ${isSilent ? `no byte arrived for ${silence / 1000} s` : last.message}`;
}
