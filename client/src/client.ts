/** A refusal, or an answer that did not come from Sluice. */
export class SluiceError extends Error {
  /** Such as `not_unique` (docs/errors.md); `no_answer`: the service was not reached; `not_sluice`: something else answered. */
  readonly code: string;
  /** The HTTP status; 0: there was no answer. */
  readonly status: number;
  readonly problems: readonly string[];
  /** The id of the request in the log of the service. */
  readonly requestId: string | undefined;
  /** Milliseconds after which to retry; undefined: the service did not say. */
  readonly retryAfter: number | undefined;

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
    this.name = 'SluiceError';
    this.code = args.code;
    this.status = args.status;
    this.problems = args.problems ?? [args.message];
    this.requestId = args.requestId;
    this.retryAfter = args.retryAfter;
  }
}

export interface ConnectOptions {
  /** The address of the service, such as `https://api.example.com`. */
  readonly url: string;
  /** An access token, or a function that returns one. In a web page, use a publishable one. */
  readonly token: string | (() => string | Promise<string>);
  readonly project: string;
  /** The login token of a user. With an ordinary access token, `asUser` binds requests to the rules of their spaces. */
  readonly user?: string;
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

type Bytes = NonNullable<RequestInit['body']>;

export interface Call {
  readonly method: string;
  /** Path and query, after the address of the service. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Of JSON.stringify. */
  readonly replacer?: ((key: string, value: unknown) => unknown) | undefined;
  /** A function makes them anew for each attempt. */
  readonly bytes?: Bytes | (() => Bytes);
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds after which an attempt has failed. */
  readonly timeout?: number;
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
    let failure: SluiceError;
    try {
      return await read(await once(client, call));
    } catch (cause) {
      call.signal?.throwIfAborted();
      const message = `No answer from ${client.url}`;
      failure =
        cause instanceof SluiceError
          ? cause
          : new SluiceError({ code: 'no_answer', status: 0, message, cause });
    }
    if (!call.repeatable) throw failure;
    await backOff(client, failure, attempt, call.signal, call.onRetry);
  }
}

const retryable = /^(0|408|429|502|503|504) |upload_conflict|key_in_use|checksum_mismatch/;

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
  const { method, path, body, replacer, bytes, timeout } = call;
  const signal = timeout === undefined ? call.signal : eitherOf(deadline(timeout), call.signal);
  const token = typeof client.token === 'string' ? client.token : await client.token();
  const headers: Record<string, string> = { authorization: `Bearer ${token}` };
  if (client.user !== undefined) headers.token = client.user;
  if (client.asUser === true) headers['sluice-act-as-user'] = 'true';
  if (body !== undefined) headers['content-type'] = 'application/json';
  const answer = await (client.fetch ?? fetch)(client.url + path, {
    method,
    headers: Object.assign(headers, call.headers),
    signal: signal ?? null,
    body:
      body === undefined
        ? ((typeof bytes === 'function' ? bytes() : bytes) ?? null)
        : JSON.stringify(body, replacer),
    // required for streams
    ...(bytes && { duplex: 'half' }),
  });
  if (answer.ok) return answer;
  throw await refusal(answer);
}

/** The error of an answer, which may come from a proxy or a captive portal. */
export async function refusal(answer: Response): Promise<SluiceError> {
  const { status, headers } = answer;
  const common = {
    status,
    requestId: headers.get('x-request-id') ?? undefined,
    retryAfter: Number(headers.get('retry-after')) * 1000 || undefined,
  };
  const answered = (await answer.json().catch(() => null)) as Partial<
    Record<'code' | 'message', string> & { error: readonly string[] }
  > | null;
  if (typeof answered?.code !== 'string')
    return new SluiceError({
      ...common,
      code: 'not_sluice',
      message: `Something that is not Sluice answered with status ${status}: is the address right?`,
    });
  const { code, message = code, error: problems = [message] } = answered;
  const isOther = code === 'structure_conflict' || message.includes(' is not in the structure');
  const remedy = isOther ? '. `npx --no-install sluice-types` writes it as it is stored' : '';
  return new SluiceError({ ...common, code, message: message + remedy, problems });
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

/** The error for a successful answer that is not from the service. */
export function notSluice(status: number, cause?: unknown): SluiceError {
  const message = 'The answer is not from Sluice: a proxy or a captive portal may have answered';
  return new SluiceError({ code: 'not_sluice', status, message, cause });
}

/** The listener keeps the signal alive: Node 20 collects a timeout that only AbortSignal.any uses, and it never fires. */
function deadline(milliseconds: number): AbortSignal {
  const signal = AbortSignal.timeout(milliseconds);
  signal.addEventListener('abort', () => {});
  return signal;
}

/** Aborted as soon as one of them is. */
export function eitherOf(...signals: readonly (AbortSignal | undefined)[]): AbortSignal {
  return AbortSignal.any(signals.filter((signal) => signal !== undefined));
}

/** @param milliseconds from now. Rejects with the reason of the signal */
export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(done, milliseconds);
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    function done(): void {
      signal?.removeEventListener('abort', stop);
      resolve();
    }
    signal?.addEventListener('abort', stop, { once: true });
    if (signal?.aborted) stop();
  });
}
