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
  /** The grants that the route needs; null or absent: none. */
  readonly needs?: Need | null | undefined;
  /** The query string as it was sent, without the question mark. */
  readonly rawQuery: string;
  /** A header's value by its lower-case name; undefined when absent. */
  header(name: string): string | undefined;
  /** Aborted when the client goes away, a deadline passes or the server must stop. */
  readonly signal: AbortSignal;
  /** The sender's address, by trusted proxies if there are any. */
  readonly address: string;
  readonly body: RequestBody;
  /** Calls the listener when the answer is sent or aborted. */
  onOver(listener: () => void): void;
}

/** Receives a body as it arrives. After `end` or `fail` nothing more is called. */
export interface BodySink {
  /**
   * The next bytes. The memory is only valid during the call: copy what you keep.
   * Return false to pause the socket until `resume` is called on the body.
   */
  write(chunk: Uint8Array): boolean;
  /** The whole body has arrived. */
  end(): void;
  /** The body will never be complete: the client left or stalled, or the server must stop. */
  fail(error: Error): void;
}

/** A request body with backpressure: the socket is only read for a sink. */
export interface RequestBody {
  /** The declared length in bytes; undefined for a chunked body. 0 when there is no body. */
  readonly contentLength: number | undefined;
  /** Starts the flow into the sink. Only once per request. */
  consume(sink: BodySink): void;
  /** Continues after a sink's `write` returned false. */
  resume(): void;
  /** Sets the account of the request, whose share its memory then counts against. */
  identify(account: string): void;
  /** Puts back the chunk that the sink is handling; it comes again after `resume`. */
  putBack(chunk: Uint8Array): void;
  /**
   * Claims memory until the request is over, or the returned function is called. Waits while there is none left, or
   * while the account holds its share. Rejects with 503 when too many wait, or when the body fails.
   */
  claim(kind: MemoryKind, amount: number): Promise<() => void>;
  /** Claims memory if there is some now; null otherwise. */
  tryClaim(kind: MemoryKind, amount: number): (() => void) | null;
}

/** A streamed answer body. */
export interface StreamBody {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Total bytes, sent as Content-Length; absent: the answer is chunked. */
  readonly length?: number;
  /** Aborted to end the answer early: its connection is closed, even if the client reads nothing. */
  readonly cut?: AbortSignal;
  /** Sent after each chunk of a body that pauses between chunks, for clients that wait for the next one. It has no meaning. */
  readonly filler?: Uint8Array;
}

/** Headers of an answer, by lower-case names. */
export type Headers = Readonly<Record<string, string>>;

export interface HttpResponse {
  readonly status: number;
  readonly headers?: Headers;
  readonly body?: string | Uint8Array | StreamBody;
}

export type Handler = (request: HttpRequest) => HttpResponse | Promise<HttpResponse>;

/** A row of a service's route table. */
export interface Route {
  /** QUERY (RFC 10008) is a GET with the query in its body. */
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'QUERY';
  /**
   * Segments are fixed text or `:name`, such as `/:project/:space`. Fixed text takes precedence over a parameter. The last
   * segment may be `:name*`: all the rest, as sent, which may be empty.
   */
  readonly path: string;
  readonly handler: Handler;
  /** Its name in metrics, logs and traces; absent: none. */
  readonly operation?: string;
  /** Its description in the OpenAPI document; absent: none. */
  readonly api?: ApiOperation;
  /** Also served over plain HTTP, for probes. */
  readonly allowPlainHttp?: boolean;
  /** Only for requests from this machine itself; 404 for others. */
  readonly localOnly?: boolean;
  /** Only pages of the same origin may read the answers: CORS allows no other. */
  readonly withoutCors?: boolean;
  /** Further headers of an OPTIONS or a 405 response of its path. */
  readonly optionsHeaders?: Headers;
  /** Text answers are compressed for clients that accept it. */
  readonly compressed?: boolean;
  /** Exempt from the request timeout, because a transfer may take any time. */
  readonly transfersBytes?: boolean;
}

export interface HttpServerOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Other workers listen on it too; their supervisor has claimed the port. */
  readonly sharedPort?: boolean;
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  readonly trustedProxies: BlockList | undefined;
  readonly corsOrigins: readonly string[];
  /** Whether to compress answers of `compressed` routes. */
  readonly compressAnswers?: boolean;
  readonly publicUrl?: string | undefined;
  /** Host names that requests from this machine may use, in addition to the host of `publicUrl`. */
  readonly allowedHosts?: readonly string[];
  /** Most milliseconds in which no byte of a request's body arrives, or no byte of an answer is read. */
  readonly bodyIdleTimeout: number;
  /** Most milliseconds from a request's last byte to its answer's head, except on `transfersBytes` routes. */
  readonly requestTimeout: number;
  readonly routes: readonly Route[];
  readonly addressLimiter?: Limiter | undefined;
  /** Called with every finished request. */
  readonly observer?: HttpObserver;
  readonly tracing?: Pick<Tracing, 'serve'>;
  readonly log: Log;
}
