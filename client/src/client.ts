/** A refusal, or an answer that did not come from Sluice. */
export class SluiceError extends Error {
  /** Such as `not_unique` (docs/errors.md); `no_answer`: the service was not reached; `not_sluice`: something else answered. */
  readonly code: string;
  /** Of HTTP; 0: there was no answer. */
  readonly status: number;
  readonly problems: readonly string[];
  /** By which the log of the service knows the request. */
  readonly requestId: string | undefined;
  /** Milliseconds after which it may be tried again; undefined: the service did not say. */
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
  /** Of the service, such as `https://api.example.com`. */
  readonly url: string;
  /** An access token, or a function that answers one. In a web page a publishable one. */
  readonly token: string | (() => string | Promise<string>);
  readonly project: string;
  /** The login token of a user. With an ordinary access token, `asUser` binds requests to the rules of their spaces. */
  readonly user?: string;
  readonly asUser?: boolean;
  /** How often a request is tried again after 429 or 503, or where there was no answer. By default 4. */
  readonly retries?: number;
  /** In place of the global one. */
  readonly fetch?: typeof fetch;
}

/** A connection to one project: what the functions of this package take first. */
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
  /** Behind the address of the service, with its query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON, unless it is bytes. */
  readonly body?: unknown;
  /** Or a function that makes them anew for each attempt. */
  readonly bytes?: Bytes | (() => Bytes);
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds after which an attempt has failed. */
  readonly timeout?: number;
  /** Whether the request comes to the same however often it is sent. */
  readonly repeatable: boolean;
  /** Before the wait for another attempt. @param attempt its number, from 2 @param wait milliseconds */
  readonly onRetry?: (failure: SluiceError, attempt: number, wait: number) => void;
}

/**
 * Sends a request, and again where that is safe. Rejects with a SluiceError, or with the reason of the signal.
 * @param read what is wanted of the answer; when that fails the request has failed
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
      const message = `No answer of ${client.url}`;
      failure =
        cause instanceof SluiceError
          ? cause
          : new SluiceError({ code: 'no_answer', status: 0, message, cause });
    }
    if (!call.repeatable) throw failure;
    await backOff(client, failure, attempt, call.signal, call.onRetry);
  }
}

const passing = /^(0|408|429|502|503|504) |upload_conflict|key_in_use|checksum_mismatch/;

/** Waits until a request may be sent again. Throws the failure where that is of no use. */
export async function backOff(
  { retries }: Client,
  failure: SluiceError,
  attempt: number,
  signal: AbortSignal | undefined,
  onRetry?: Call['onRetry'],
): Promise<void> {
  const { status, code, retryAfter = 0 } = failure;
  if (!passing.test(`${status} ${code}`) || attempt >= retries) throw failure;
  // clients that were refused together do not come back together
  const wait = Math.max(retryAfter, 250 * 2 ** attempt) * (1 + Math.random() / 2);
  onRetry?.(failure, attempt + 2, wait);
  await sleep(wait, signal);
}

async function once(client: Client, call: Call): Promise<Response> {
  const { method, path, body, bytes, timeout } = call;
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
      body === undefined ? ((typeof bytes === 'function' ? bytes() : bytes) ?? null) : JSON.stringify(body),
    // of a stream
    ...(bytes && { duplex: 'half' }),
  });
  if (answer.ok) return answer;
  throw await refusal(answer);
}

/** The refusal that an answer says. It may be that of a proxy, or of a network that wants a login. */
export async function refusal(answer: Response): Promise<SluiceError> {
  const { status, headers } = answer;
  const given = {
    status,
    requestId: headers.get('x-request-id') ?? undefined,
    retryAfter: Number(headers.get('retry-after')) * 1000 || undefined,
  };
  const said = (await answer.json().catch(() => null)) as Partial<
    Record<'code' | 'message', string> & { error: readonly string[] }
  > | null;
  if (typeof said?.code !== 'string')
    return new SluiceError({
      ...{ ...given, code: 'not_sluice' },
      message: `Something that is not Sluice answered with status ${status}: is the address right?`,
    });
  const { code, message = code, error: problems = [message] } = said;
  const isOther = code === 'structure_conflict' || message.includes(' is not in the structure');
  const remedy = isOther ? '. `npx sluice types` writes it as it is stored' : '';
  return new SluiceError({ ...given, code, message: message + remedy, problems });
}

/** The JSON of a good answer. Rejects where something else answered, such as the page of a captive portal. */
export async function json<Answer>(answer: Response): Promise<Answer> {
  try {
    return (await answer.json()) as Answer;
  } catch (cause) {
    // otherwise the connection was cut
    throw cause instanceof SyntaxError ? notSluice(answer.status, cause) : cause;
  }
}

/** The error for a good answer of something else than the service. */
export function notSluice(status: number, cause?: unknown): SluiceError {
  const message = 'The answer is none of Sluice: something between here and the service may have answered';
  return new SluiceError({ code: 'not_sluice', status, message, cause });
}

/** With a listener, because Node 20 collects a timeout that only stands in AbortSignal.any, and then nothing ends the wait. */
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
