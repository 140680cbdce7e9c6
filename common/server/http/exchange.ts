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

/** The client closed its connection, or the native parser refused the rest of its request. */
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
  /** The sender of a request; called while its connection is there. */
  readonly addressOf: (exchange: Exchange) => string;
}

/**
 * One request and its answer, from the native callbacks' side. Everything that the native request knows is read
 * in the constructor, because it is gone when the handler returns.
 */
export class Exchange implements HttpRequest, SocketFlow {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly rawQuery: string;
  /** Bytes of the request line and the headers; 0: not counted, because they can't be too many. */
  readonly headBytes: number;
  readonly body: IncomingBody;
  readonly startedAt: number;
  readonly res: Uws.HttpResponse;
  params: Readonly<Record<string, string>> = noParams;
  /** The native handler has not returned: writes are corked. */
  inHandler = true;
  /** The connection is gone: `res` may not be touched. */
  aborted = false;
  /** The answer has begun, so there can be no other. */
  headSent = false;
  /** The answer's bytes are being written and the client has yet to take them. */
  writing = false;
  /** When the client last took bytes of the answer. */
  lastWrite = 0;
  /** Called when the client can take more, or is gone. */
  onWritable: (() => void) | null = null;
  /** Called when the connection is gone, after the request was over. */
  onClosed: (() => void) | null = null;
  /** Called when the answer is not waited for any more. */
  onGivenUp: ((reason: Error) => void) | null = null;
  /** Pattern of the route that it matched, for metrics: never its path. */
  route = '';
  operation = '';
  /** No page of another origin may read its answer; undefined: not known yet. */
  withoutCors: boolean | undefined;
  /** Headers of its answer that let pages of other origins read it. */
  cors: CorsAnswer | undefined;
  needs: Need | null | undefined;
  /** Status of the answer, once its head is sent. */
  status = 0;
  /** Bytes of the answer's body that were given to the connection. */
  sentBytes = 0;
  span: RequestSpan | undefined;
  /** The failure to log when it is over, if there was one. */
  failure: Failure | null = null;
  /** Bytes of the body that metrics have counted. */
  countedBytes = 0;
  /** The request timeout no longer counts. */
  transfersBytes = false;
  /** Why nobody can tell where the request ends and the next one begins; null when that is clear. */
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

  /** The other end of the connection, which must be there. */
  get peer(): string {
    return this.#shared.peers.of(this.res);
  }

  get address(): string {
    this.keepAddress();
    return this.#address as string;
  }

  /** Reads it while the connection is there, for later use. */
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
   * Whether the connection serves nothing after it. The native parser takes any two bytes for the line break after the last
   * chunk, and a line break alone or a space for the end of a size: where a chunked body ends is not known for sure.
   */
  get isLast(): boolean {
    return this.unclearFraming !== null || this.body.contentLength === undefined;
  }

  /** Runs writes to the connection, so that they go out at once. */
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

  /** The reason why the answer is not wanted any more; null: it is wanted. */
  get abortReason(): Error | null {
    return this.#abortReason;
  }

  /** Aborts the work on the request: its answer is not wanted any more. */
  abort(reason: Error): void {
    if (this.#abortReason !== null) return;
    this.#abortReason = reason;
    this.#controller?.abort(reason);
    this.body.fail(reason);
  }

  /** Ends the request with an error of ours, whether its handler listens to the signal or not. */
  giveUp(reason: Error): void {
    this.abort(reason);
    this.onGivenUp?.(reason);
  }

  onOver(listener: () => void): void {
    this.#onOver ??= [];
    this.#onOver.push(listener);
  }

  /** Nothing more is to be done for it. */
  over(): void {
    this.#over = true;
    this.body.releaseMemory();
    if (this.#onOver !== null) for (const listener of this.#onOver) listener();
  }

  /** The native side reports that the connection is gone. */
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
 * RFC 9112 section 6.1 and 6.3. The native parser takes an empty header for none and any coding for `chunked`; a
 * proxy before us may see it otherwise, and then the body would be a request to one of us.
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
    : 'The Transfer-Encoding header should be "chunked", and there should be one';
}

/**
 * RFC 9110 section 5.5: a value that is no UTF-8 is Latin-1, in which Node's clients send headers. The native `forEach`
 * reads UTF-8, and `getHeader` bytes.
 * @param text as UTF-8, with replacement characters, which may also have been sent
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
