import type { BlockList } from 'node:net';
import type { Limiter } from '#coordination/rate-limits/request-limiter.ts';
import type { Need } from '#kernel/grants.ts';
import type { Log } from '#kernel/log/log.ts';
import type { HttpObserver } from '#kernel/telemetry/http-observer.ts';
import type { Tracing } from '#kernel/telemetry/tracing.ts';
import type { ApiOperation } from '../openapi/api-operation.ts';
import type { MemoryKind } from './body-memory.ts';

/** Name-value pairs of the query string in order of appearance, percent-decoded. */
export type QueryPairs = readonly (readonly [name: string, value: string])[];

/** A request as handlers see it: plain data that stays valid across awaits. */
export interface HttpRequest {
  /** Also the `X-Request-Id` of the answer. */
  readonly id: string;
  /** Upper case. */
  readonly method: string;
  /** As sent, without the query string. */
  readonly path: string;
  /** Path parameters by name, percent-decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: QueryPairs;
  /** What its route needs of a token; null or absent: nothing. */
  readonly needs?: Need | null | undefined;
  /** The query string as it was sent, without the question mark. */
  readonly rawQuery: string;
  /** A header's value by its lower-case name; undefined when absent. */
  header(name: string): string | undefined;
  /** Aborted when the client goes away, a deadline passes or the server must stop. */
  readonly signal: AbortSignal;
  /** Its sender, as far as trusted proxies report it. */
  readonly address: string;
  readonly body: RequestBody;
  /** Calls the listener when the answer is sent, or given up. */
  onOver(listener: () => void): void;
}

/** Takes a body as it arrives. After `end` or `fail` nothing more is called. */
export interface BodySink {
  /**
   * The next bytes. The memory is only valid during the call: copy what is kept.
   * Answer false to pause the socket until `resume` is called on the body.
   */
  write(chunk: Uint8Array): boolean;
  /** The whole body has arrived. */
  end(): void;
  /** The body will not be complete: the client went away or stalled, or the server must stop. */
  fail(error: Error): void;
}

/** A request body with backpressure: nothing is read from the socket before a sink asks for it. */
export interface RequestBody {
  /** The declared length in bytes; undefined for a chunked body. 0 when there is no body. */
  readonly contentLength: number | undefined;
  /** Starts the flow into the sink. At most once a request. */
  consume(sink: BodySink): void;
  /** Continues after a sink's `write` answered false. */
  resume(): void;
  /** Names the account of the request: from then on it holds memory of that account's share. */
  identify(account: string): void;
  /** Takes back a chunk that a sink was just given and could not take; it comes again after `resume`. */
  putBack(chunk: Uint8Array): void;
  /**
   * Claims memory of the process until the request is over, or the returned function is called. Waits while there is
   * none left, or while the account holds its share. Rejects with 503 when too many wait, or when the body fails.
   */
  claim(kind: MemoryKind, amount: number): Promise<() => void>;
  /** The same when it can be had at once; null otherwise. */
  tryClaim(kind: MemoryKind, amount: number): (() => void) | null;
}

/** Bytes of an answer that are made while they are sent. */
export interface StreamBody {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Total of bytes when known: sent as Content-Length; otherwise the answer is chunked. */
  readonly length?: number;
  /** Aborted when the answer should end early: its connection is closed, even while the client takes nothing. */
  readonly cut?: AbortSignal;
}

/** Headers of an answer, by lower-case names. */
export type Headers = Readonly<Record<string, string>>;

export interface HttpResponse {
  readonly status: number;
  readonly headers?: Headers;
  readonly body?: string | Uint8Array | StreamBody;
}

export type Handler = (request: HttpRequest) => HttpResponse | Promise<HttpResponse>;

/** One line of a service's route table. */
export interface Route {
  /** QUERY (RFC 10008) is a GET that carries its question in a body. */
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'QUERY';
  /**
   * Segments are fixed text or `:name`, such as `/:project/:space`. Fixed text wins over a parameter. The last one may be
   * `:name*`: all the rest, as it was sent, which may be nothing after a slash.
   */
  readonly path: string;
  readonly handler: Handler;
  /** Its name in metrics, logs and traces; absent: it has none of its own. */
  readonly operation?: string;
  /** Its place in the description of the API; absent: none. */
  readonly api?: ApiOperation;
  /** Probes are answered without TLS as well. */
  readonly allowPlainHttp?: boolean;
  /** There for requests of this machine itself only; 404 for others. */
  readonly localOnly?: boolean;
  /** Its answers are for pages of its own origin: CORS allows no other one. */
  readonly withoutCors?: boolean;
  /** Headers of an OPTIONS or a 405 of its path besides the methods. */
  readonly optionsHeaders?: Headers;
  /** Its answers of text are compressed for clients that ask. */
  readonly compressed?: boolean;
  /** Not bounded by the request timeout, because bytes flow for as long as they flow. */
  readonly transfersBytes?: boolean;
}

export interface HttpServerOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Other workers of the same supervisor, which claims the port for all, listen there too. */
  readonly sharedPort?: boolean;
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  readonly trustedProxies: BlockList | undefined;
  readonly corsOrigins: readonly string[];
  /** Of routes that are `compressed`. */
  readonly compressAnswers?: boolean;
  readonly publicUrl?: string | undefined;
  /** Names of this machine besides that of `publicUrl`, by which requests of its own may ask. */
  readonly allowedHosts?: readonly string[];
  /** Milliseconds without a byte of a request's body, or without a byte of an answer taken. */
  readonly bodyIdleTimeout: number;
  /** Milliseconds from a request's last byte to its answer's head, except on routes that transfer bytes. */
  readonly requestTimeout: number;
  readonly routes: readonly Route[];
  readonly addressLimiter?: Limiter | undefined;
  /** Called with every request that is over. */
  readonly observer?: HttpObserver;
  readonly tracing?: Pick<Tracing, 'serve'>;
  readonly log: Log;
}
