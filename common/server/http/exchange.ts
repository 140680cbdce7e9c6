import type * as Uws from 'uWebSockets.js';
import { isUtf8 } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import type { Need } from '#kernel/grants.ts';
import type { RequestSpan } from '#kernel/telemetry/tracing.ts';
import type { BodyMemory } from './body-memory.ts';
import type { ChunkJoiner } from './chunk-joiner.ts';
import type { CorsAnswer } from './cors.ts';
import { maxHeadBytes } from './head-limits.ts';
import type { HttpRequest, QueryPairs } from './http-types.ts';
import { IncomingBody, type SocketFlow } from './incoming-body.ts';
import type { Failure } from './log-request.ts';
import type { PeerAddresses } from './peer-addresses.ts';
import { parseQueryString } from './query-string.ts';

const requestIdPattern = /^[A-Za-z0-9._-]{8,64}$/;

/** The client closed its connection, or uWebSockets.js refused the rest of its request. */
export class ClientGoneError extends Error {
  constructor() {
    super('the client went away before the request was complete');
    this.name = 'ClientGoneError';
  }
}

/** State that all requests of a server share. */
export interface ExchangeShare {
  readonly memory: BodyMemory;
  readonly joiner: ChunkJoiner;
  readonly peers: PeerAddresses;
  /** The sender of a request; called while its connection is open. */
  readonly addressOf: (exchange: Exchange) => string;
}

/**
 * A request and its answer, as the native callbacks see it. The constructor reads everything from the native request,
 * because that is invalid after the handler returns.
 */
export class Exchange implements HttpRequest, SocketFlow {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly rawQuery: string;
  /** Bytes of the request line and the headers; 0: not counted, because they can't exceed the limit. */
  readonly headBytes: number;
  readonly body: IncomingBody;
  readonly startedAt: number;
  readonly res: Uws.HttpResponse;
  params: Readonly<Record<string, string>> = noParams;
  /** The native handler has not returned yet: writes are corked. */
  inHandler = true;
  /** The connection is closed: `res` must not be used. */
  aborted = false;
  /** The answer has started, so no other is possible. */
  headSent = false;
  /** The answer is being written, and the client has not read all of it. */
  writing = false;
  /** When the client last read bytes of the answer. */
  lastWrite = 0;
  /** Called when the socket can take more, or is closed. */
  onWritable: (() => void) | null = null;
  /** Called when the connection closes after the request is over. */
  onClosed: (() => void) | null = null;
  /** Called when the exchange is aborted. */
  onGivenUp: ((reason: Error) => void) | null = null;
  /** Pattern of the matched route, for metrics: never the path. */
  route = '';
  operation = '';
  /** Whether pages of other origins must not read the answer; undefined: not known yet. */
  withoutCors: boolean | undefined;
  /** The CORS headers of the answer. */
  cors: CorsAnswer | undefined;
  needs: Need | null | undefined;
  /** Status of the answer, once its head is sent. */
  status = 0;
  /** Bytes of the answer's body that were passed to the connection. */
  sentBytes = 0;
  span: RequestSpan | undefined;
  /** The failure to log at the end, if any. */
  failure: Failure | null = null;
  /** Bytes of the body that the metrics have counted. */
  countedBytes = 0;
  /** The request timeout no longer counts. */
  transfersBytes = false;
  /** Why the end of the request is ambiguous; null: it is clear. */
  readonly unclearFraming: string | null;
  readonly #headers: Map<string, string>;
  readonly #shared: ExchangeShare;
  #address: string | null = null;
  #query: QueryPairs | null = null;
  #controller: AbortController | null = null;
  #abortReason: Error | null = null;
  #onOver: (() => void)[] | null = null;
  #over = false;

  constructor(res: Uws.HttpResponse, req: Uws.HttpRequest, shared: ExchangeShare) {
    this.res = res;
    this.#shared = shared;
    this.method = req.getCaseSensitiveMethod();
    this.path = req.getUrl();
    this.rawQuery = req.getQuery() ?? '';
    const { headers, characters } = readHeaders(req);
    this.#headers = headers;
    const line = this.method.length + this.path.length + this.rawQuery.length + lineOverhead;
    this.headBytes = maxBytesOfCharacter * characters + line > maxHeadBytes ? line + bytesOfHeaders(req) : 0;
    const givenId = headers.get('x-request-id');
    this.id = givenId !== undefined && requestIdPattern.test(givenId) ? givenId : randomUUID();
    this.startedAt = performance.now();
    this.unclearFraming = framingProblem(headers);
    this.body = new IncomingBody({
      contentLength: declaredLength(headers),
      flow: this,
      memory: shared.memory,
      joiner: shared.joiner,
      now: this.startedAt,
    });
  }

  /** The peer's address. The connection must be open. */
  get peer(): string {
    return this.#shared.peers.of(this.res);
  }

  get address(): string {
    this.keepAddress();
    return this.#address as string;
  }

  /** Reads the peer's address while the connection is open, for later use. */
  keepAddress(): void {
    this.#address ??= this.#shared.addressOf(this);
  }

  pause(): void {
    if (!this.aborted) this.res.pause();
  }

  resume(): void {
    if (!this.aborted) this.res.resume();
  }

  /**
   * Whether the connection must be closed after this request. uWebSockets.js accepts any two bytes as the line break after
   * the last chunk, and a bare line feed or a space as the end of a chunk size, so the end of a chunked body is uncertain.
   */
  get isLast(): boolean {
    return this.unclearFraming !== null || this.body.contentLength === undefined;
  }

  /** Runs writes to the connection, so that they are sent together. */
  cork(write: () => void): void {
    if (this.inHandler) write();
    else this.res.cork(write);
  }

  get query(): QueryPairs {
    this.#query ??= parseQueryString(this.rawQuery);
    return this.#query;
  }

  header(name: string): string | undefined {
    return this.#headers.get(name);
  }

  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.#abortReason !== null) this.#controller.abort(this.#abortReason);
    }
    return this.#controller.signal;
  }

  /** The reason of the abort; null: the answer is still wanted. */
  get abortReason(): Error | null {
    return this.#abortReason;
  }

  /** Aborts the work on the request, because its answer is no longer wanted. */
  abort(reason: Error): void {
    if (this.#abortReason !== null) return;
    this.#abortReason = reason;
    this.#controller?.abort(reason);
    this.body.fail(reason);
  }

  /** Ends the request with our error, whether its handler listens to the signal or not. */
  giveUp(reason: Error): void {
    this.abort(reason);
    this.onGivenUp?.(reason);
  }

  onOver(listener: () => void): void {
    this.#onOver ??= [];
    this.#onOver.push(listener);
  }

  /** The exchange is over. */
  over(): void {
    this.#over = true;
    this.body.releaseMemory();
    if (this.#onOver !== null) for (const listener of this.#onOver) listener();
  }

  /** uWebSockets.js reports that the connection is closed. */
  connectionLost(): void {
    this.aborted = true;
    if (this.#over) {
      this.onClosed?.();
      return;
    }
    this.giveUp(new ClientGoneError());
    this.onWritable?.();
  }
}

/** Spaces, line breaks and HTTP/1.1. */
const lineOverhead = 14;
const maxBytesOfCharacter = 3;
const noParams = Object.freeze({});

/** @returns the headers by name, and at least a third of their bytes */
function readHeaders(req: Uws.HttpRequest): { headers: Map<string, string>; characters: number } {
  const headers = new Map<string, string>();
  let characters = 0;
  req.forEach((name, text) => {
    characters += name.length + text.length + 4;
    const value = text.includes('\uFFFD') ? readLatin1(req, name, text) : text;
    const earlier = headers.get(name);
    // RFC 9110 section 5.3: repeated lines are one list
    headers.set(name, earlier === undefined ? value : `${earlier}, ${value}`);
  });
  return { headers, characters };
}

function bytesOfHeaders(req: Uws.HttpRequest): number {
  let bytes = 0;
  req.forEach((name, text) => {
    bytes += name.length + Buffer.byteLength(text) + 4;
  });
  return bytes;
}

/**
 * RFC 9112 section 6.1 and 6.3. uWebSockets.js treats an empty header as absent and any coding as `chunked`. A proxy in
 * front may disagree, and then one of us would parse the body as a request (request smuggling).
 */
function framingProblem(headers: ReadonlyMap<string, string>): string | null {
  const length = headers.get('content-length');
  const coding = headers.get('transfer-encoding');
  if (length !== undefined && !/^\d+$/.test(length)) {
    return length.includes(',')
      ? 'The request has several Content-Length headers'
      : 'The Content-Length header should be a number';
  }
  if (coding === undefined) return null;
  if (length !== undefined) return 'The request has both Content-Length and Transfer-Encoding';
  return coding.trim().toLowerCase() === 'chunked'
    ? null
    : 'There should be one Transfer-Encoding header, with the value "chunked"';
}

/**
 * RFC 9110 section 5.5: a value that isn't UTF-8 is Latin-1, which Node's clients send. The native `forEach` decodes
 * UTF-8, and `getHeader` returns bytes.
 * @param text decoded as UTF-8, with replacement characters, which the client may also have sent
 */
function readLatin1(req: Uws.HttpRequest, name: string, text: string): string {
  const bytes = req.getHeader(name);
  if (/[^\0-\xff]/.test(bytes)) return text;
  return isUtf8(Buffer.from(bytes, 'latin1')) ? text : bytes;
}

function declaredLength(headers: ReadonlyMap<string, string>): number | undefined {
  const length = headers.get('content-length');
  if (length === undefined) return headers.has('transfer-encoding') ? undefined : 0;
  return /^\d+$/.test(length) ? Number(length) : undefined;
}
