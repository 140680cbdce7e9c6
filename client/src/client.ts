/** A refusal, or an answer that did not come from Sluice. */
export class SluiceError extends Error {
  /** Such as `not_unique` (docs/errors.md); `no_answer`: the service was not reached; `not_sluice`: something else answered. */
  declare readonly code: string;
  /** The HTTP status; 0: there was no answer. */
  declare readonly status: number;
  declare readonly problems: readonly string[];
  /** The id of the request in the log of the service. */
  declare readonly requestId: string | undefined;
  /** Milliseconds after which to retry; undefined: the service did not say. */
  declare readonly retryAfter: number | undefined;

  constructor(args: {
    readonly code: string;
    readonly status: number;
    readonly message: string;
    readonly problems?: readonly string[];
    readonly requestId?: string | undefined;
    readonly retryAfter?: number | undefined;
    readonly cause?: unknown;
  }) {
    super(args.message, { cause: args.cause });
    Object.assign(this, { problems: [args.message], ...args, name: 'SluiceError' });
  }
}

export interface ConnectOptions {
  /** The address of the service, such as `https://api.example.com`. */
  readonly url: string;
  /** An access token, or a function that returns one. In a web page, use a publishable one. */
  readonly token: string | (() => string | Promise<string>);
  readonly project: string;
  /**
   * The login token of a user, or a function that returns it, or undefined while nobody is logged in; it is called for each
   * request. With an ordinary access token, `asUser` binds requests to the rules of their spaces.
   */
  readonly user?: string | (() => string | undefined | Promise<string | undefined>) | undefined;
  readonly asUser?: boolean;
  /** How often a request is retried after 429 or 503, or without an answer. By default 4. */
  readonly retries?: number;
  /** Replaces the global `fetch`. */
  readonly fetch?: typeof fetch;
}

/** A connection to one project: the first argument of this package's functions. */
export interface Client extends ConnectOptions {
  readonly url: string;
  readonly retries: number;
}

export function connect(options: ConnectOptions): Client {
  return { ...options, url: options.url.replace(/\/+$/, ''), retries: options.retries ?? 4 };
}

export interface Call {
  readonly method: string;
  /** Path and query, after the address of the service. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Of JSON.stringify. */
  readonly replacer?: ((key: string, value: unknown) => unknown) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** More of each attempt (attempt-with.ts). */
  readonly attempt?: () => RequestInit;
  /** Whether the request is idempotent, and may be retried. */
  readonly repeatable: boolean;
  /** Called before the wait for a retry. @param attempt its number, from 2 @param wait milliseconds */
  readonly onRetry?: (failure: SluiceError, attempt: number, wait: number) => void;
}

/**
 * Sends a request, and retries it where that is safe. Rejects with a SluiceError, or with the reason of the signal.
 * @param read reads the answer; if it fails, the request has failed
 */
export async function send(client: Client, call: Call): Promise<Response>;
export async function send<Result>(
  client: Client,
  call: Call,
  read: (answer: Response) => Promise<Result>,
): Promise<Result>;
export async function send(
  client: Client,
  call: Call,
  read = (answer: Response): unknown => answer,
): Promise<unknown> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await read(await once(client, call));
    } catch (cause) {
      call.signal?.throwIfAborted();
      const message = `No answer from ${client.url}`;
      const failure =
        cause instanceof SluiceError
          ? cause
          : new SluiceError({ code: 'no_answer', status: 0, message, cause });
      if (!call.repeatable) throw failure;
      await backOff(client, failure, attempt, call.signal, call.onRetry);
    }
  }
}

const retryable = /^(0|408|429|50[234]) |bucket|upload_conflict|key_in_use|checksum_mismatch/;

/** Waits until a request may be retried. Throws the failure if a retry is of no use. */
export async function backOff(
  { retries }: Client,
  failure: SluiceError,
  attempt: number,
  signal: AbortSignal | undefined,
  onRetry?: Call['onRetry'],
): Promise<void> {
  const { status, code, retryAfter = 0 } = failure;
  if (!retryable.test(`${status} ${code}`) || attempt >= retries) throw failure;
  // jitter: clients that were refused together must not retry together
  const wait = Math.max(retryAfter, 250 * 2 ** attempt) * (1 + Math.random() / 2);
  onRetry?.(failure, attempt + 2, wait);
  await sleep(wait, signal);
}

async function once(client: Client, call: Call): Promise<Response> {
  const { body } = call;
  const user = await valueNow(client.user);
  const headers = {
    authorization: `Bearer ${await valueNow(client.token)}`,
    ...(user && { token: user }),
    ...(client.asUser && { 'sluice-act-as-user': 'true' }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...call.headers,
  };
  const answer = await (client.fetch ?? fetch)(client.url + call.path, {
    method: call.method,
    headers,
    signal: call.signal,
    body: JSON.stringify(body, call.replacer),
    ...call.attempt?.(),
  } as RequestInit);
  if (answer.ok) return answer;
  throw await refusal(answer);
}

/** The value, or what a function returns now. */
export function valueNow<Value>(value: Value | (() => Value | Promise<Value>)): Value | Promise<Value> {
  return typeof value === 'function' ? (value as () => Value | Promise<Value>)() : value;
}

/** The error of an answer, which may come from a proxy or a captive portal. */
export async function refusal(answer: Response): Promise<SluiceError> {
  const { status, headers } = answer;
  const more = {
    requestId: headers.get('x-request-id') ?? undefined,
    retryAfter: Number(headers.get('retry-after')) * 1000 || undefined,
  };
  const answered: unknown = await answer.json().catch(() => null);
  const {
    code,
    message = code,
    error = [message],
  } = (answered ?? {}) as Record<'code' | 'message', string> & {
    readonly error?: readonly string[];
  };
  if (typeof code !== 'string') return notSluice(status, undefined, more);
  const isOther = /structure_conflict|not in the structure/.test(code + message);
  const remedy = isOther ? ': `npx --no-install sluice-types` writes it' : '';
  return new SluiceError({ ...more, status, code, message: message + remedy, problems: error });
}

/** The JSON of a successful answer. Rejects if something else answered, such as a captive portal. */
export async function json<Answer>(answer: Response): Promise<Answer> {
  try {
    return (await answer.json()) as Answer;
  } catch (cause) {
    // otherwise the connection was cut
    throw cause instanceof SyntaxError ? notSluice(answer.status, cause) : cause;
  }
}

/** The error for an answer that is not from the service. */
export function notSluice(status: number, cause?: unknown, more?: object): SluiceError {
  const message = 'Something that is not Sluice answered: is the address right?';
  return new SluiceError({ ...more, code: 'not_sluice', status, message, cause });
}

/** Aborted as soon as one of them is. */
export function eitherOf(...signals: readonly (AbortSignal | undefined)[]): AbortSignal {
  return AbortSignal.any(signals.filter((signal) => signal !== undefined));
}

/** @param milliseconds from now. Rejects with the reason of the signal */
export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, milliseconds);
    signal?.addEventListener('abort', stop);
    if (signal?.aborted) stop();
  });
}
