import type * as Uws from 'uWebSockets.js';
import { ApiError } from '#kernel/errors/api-error.ts';
import { shuttingDown } from '#kernel/errors/catalogue.ts';
import { renderError, visibleError } from '#kernel/errors/render-error.ts';
import { settledWithin } from '#kernel/limits/deadline.ts';
import type { FinishedRequest, HttpObserver } from '#kernel/telemetry/http-observer.ts';
import { untraced } from '#kernel/telemetry/tracing.ts';
import { type BodyMemory, createBodyMemory } from './body-memory.ts';
import { ChunkJoiner } from './chunk-joiner.ts';
import { Dispatcher } from './dispatcher.ts';
import { Exchange, type ExchangeShare } from './exchange.ts';
import type { HttpResponse, HttpServerOptions } from './http-types.ts';
import { Linger, shortLinger } from './linger.ts';
import { type Failure, logRequest } from './log-request.ts';
import { PeerAddresses } from './peer-addresses.ts';
import { Watchdog } from './watchdog.ts';
import { inPieces, isStream, restIsSmall, writeStream, writeUnended, writeWhole } from './write-response.ts';

const unobserved: HttpObserver = { answered() {}, received() {} };

/** Serves requests from the head to the end of the answer, and tracks those in flight. */
export class RequestServer {
  readonly #options: HttpServerOptions & Required<Pick<HttpServerOptions, 'observer' | 'tracing'>>;
  readonly #dispatcher: Dispatcher;
  readonly #watchdog: Watchdog;
  readonly #shared: ExchangeShare;
  readonly #active = new Set<Exchange>();
  readonly #linger = new Linger();
  #draining = false;
  #onIdle: () => void = () => {};

  constructor(options: HttpServerOptions) {
    this.#options = { observer: unobserved, tracing: untraced, ...options };
    const dispatcher = new Dispatcher(options);
    this.#dispatcher = dispatcher;
    this.#shared = {
      memory: createBodyMemory(),
      joiner: new ChunkJoiner(),
      peers: new PeerAddresses(),
      addressOf: (exchange) => dispatcher.addressOf(exchange),
    };
    this.#watchdog = new Watchdog(options);
  }

  /** Requests in flight. */
  get active(): number {
    return this.#active.size;
  }

  get bodyMemory(): BodyMemory {
    return this.#shared.memory;
  }

  /** Notes a connection, before its first request. */
  connected(res: Uws.HttpResponse): void {
    this.#shared.peers.connected(res);
  }

  /** Starts a request. All native data is read before this returns. */
  accept(res: Uws.HttpResponse, req: Uws.HttpRequest): void {
    const exchange = new Exchange(res, req, this.#shared);
    if (!exchange.body.complete) {
      res.onAborted(() => exchange.connectionLost());
      res.onData((chunk, isLast) => {
        // bytes after the end of a chunked body, in the same segment, are checked first, and close the connection
        if (!isLast || exchange.body.contentLength !== undefined) exchange.body.push(chunk, isLast);
        else setImmediate(() => exchange.body.push(new ArrayBuffer(0), true));
      });
    }
    this.#active.add(exchange);
    this.#options.tracing.serve(exchange, this.#begin);
    exchange.inHandler = false;
  }

  /** Checks the deadlines of requests. */
  tick(): void {
    for (const exchange of this.#active) if (!exchange.aborted) this.#countBytes(exchange);
    this.#watchdog.tick(this.#active);
  }

  /** From now on each answer closes its connection. */
  announceStop(): void {
    this.#draining = true;
  }

  /** Lets requests finish for `timeout` milliseconds, and answers 503 to the rest. */
  async drain(timeout: number): Promise<void> {
    this.announceStop();
    this.#linger.hurry();
    await this.#idleWithin(timeout);
    this.#dispatcher.closed = true;
    for (const exchange of this.#active) exchange.giveUp(shuttingDown());
    await this.#idleWithin(shortLinger.milliseconds + 1000);
  }

  async #idleWithin(milliseconds: number): Promise<void> {
    if (this.#active.size === 0) return;
    const idle = new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
    await settledWithin(idle, milliseconds);
  }

  /** Answers synchronously if possible: without promises, and without a listener for the connection's end. */
  readonly #begin = (exchange: Exchange): void => {
    const answer = this.#dispatch(exchange);
    if (!(answer instanceof Promise) && exchange.body.complete && isWhole(exchange, answer)) {
      exchange.status = answer.status;
      exchange.cors = this.#dispatcher.cors(exchange);
      const rest = writeWhole(exchange, answer, this.#draining);
      if (rest === undefined) {
        this.#over(exchange);
        return;
      }
      exchange.res.onAborted(() => exchange.connectionLost());
      exchange.keepAddress();
      void rest.finally(() => this.#over(exchange));
      return;
    }
    if (exchange.body.complete) exchange.res.onAborted(() => exchange.connectionLost());
    exchange.keepAddress();
    void this.#serve(exchange, answer).finally(() => this.#over(exchange));
  };

  #dispatch(exchange: Exchange): HttpResponse | Promise<HttpResponse> {
    try {
      return this.#dispatcher.dispatch(exchange);
    } catch (thrown) {
      return failureAnswer(exchange, thrown);
    }
  }

  async #serve(exchange: Exchange, answer: HttpResponse | Promise<HttpResponse>): Promise<void> {
    let response: HttpResponse;
    try {
      response = answer instanceof Promise ? await unlessGivenUp(exchange, answer) : answer;
    } catch (thrown) {
      response = failureAnswer(exchange, thrown);
    }
    try {
      await this.#send(exchange, response);
    } catch (thrown) {
      const failed = failureAnswer(exchange, thrown);
      if (exchange.aborted) return;
      // cutting the connection tells the client that the answer is incomplete
      if (exchange.headSent) exchange.res.close();
      else await this.#send(exchange, failed);
    }
  }

  async #send(exchange: Exchange, answer: HttpResponse): Promise<void> {
    if (exchange.aborted) return dispose(answer);
    // uWebSockets.js considers this answer unended, so only the watchdog notices whether the client reads it
    const response = exchange.isLast ? inPieces(answer) : answer;
    exchange.status = response.status;
    exchange.cors = this.#dispatcher.cors(exchange);
    if (isStream(response.body)) {
      await writeStream(exchange, response, this.#draining || exchange.isLast);
      if (exchange.isLast && !exchange.aborted) await this.#linger.close(exchange, response.status);
    } else if (mayGoOn(exchange, response)) await writeWhole(exchange, response, this.#draining);
    else {
      writeUnended(exchange, response);
      await this.#linger.close(exchange, response.status);
    }
  }

  #over(exchange: Exchange): void {
    exchange.over();
    this.#active.delete(exchange);
    this.#countBytes(exchange);
    const request = finished(exchange);
    this.#options.observer.answered(request);
    exchange.span?.end(request, exchange.failure?.code);
    logRequest(this.#options.log, request, exchange);
    if (this.#active.size === 0) this.#onIdle();
  }

  #countBytes(exchange: Exchange): void {
    const { received } = exchange.body;
    if (received === exchange.countedBytes) return;
    this.#options.observer.received(exchange.route, received - exchange.countedBytes);
    exchange.countedBytes = received;
  }
}

function finished(exchange: Exchange): FinishedRequest {
  return {
    id: exchange.id,
    route: exchange.route,
    operation: exchange.operation,
    method: exchange.method,
    status: exchange.headSent ? exchange.status : null,
    seconds: (performance.now() - exchange.startedAt) / 1000,
    userId: exchange.body.account,
    project: exchange.params.project ?? '',
    bytesIn: exchange.body.received,
    bytesOut: exchange.sentBytes,
  };
}

function isWhole(exchange: Exchange, response: HttpResponse): boolean {
  return !isStream(response.body) && mayGoOn(exchange, response);
}

/** Whether the connection may serve another request. */
function mayGoOn(exchange: Exchange, { status }: HttpResponse): boolean {
  // after a complete answer uWebSockets.js would parse the next bytes, which may not be a request
  if (exchange.isLast) return false;
  // don't wait again for a stalled client
  return status !== 408 && restIsSmall(exchange);
}

/** Ends the source of a streamed answer without a reader. The request's signal is already aborted. */
async function dispose(response: HttpResponse): Promise<void> {
  if (isStream(response.body)) await response.body.chunks[Symbol.asyncIterator]().return?.();
}

/** The handler's answer, or a rejection as soon as the exchange is aborted; a late answer is discarded. */
function unlessGivenUp(exchange: Exchange, answer: Promise<HttpResponse>): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    let open = true;
    exchange.onGivenUp = (reason) => {
      open = false;
      reject(reason);
    };
    answer.then(
      (response) => {
        if (open) resolve(response);
        else void dispose(response).catch(() => {});
      },
      (error: unknown) => reject(error as Error),
    );
  });
}

/** Records the failure of a request for its log line, and makes the error response. */
function failureAnswer(exchange: Exchange, thrown: unknown): HttpResponse {
  const error = visibleError(exchange.abortReason ?? thrown);
  exchange.failure = { ...howFailed(exchange, thrown, error), code: error.code };
  const { id, path } = exchange;
  return { status: error.status, ...renderError(error, { id, path, accept: exchange.header('accept') }) };
}

function howFailed(
  { aborted }: Exchange,
  thrown: unknown,
  { status, cause }: ApiError,
): Omit<Failure, 'code'> {
  if (aborted) return { level: 'debug', text: 'request ended without its client', err: thrown };
  if (status > 500 && cause !== undefined) {
    // a store is down, overloaded or full, which the operator should know
    return { level: 'warn', text: 'request failed for now', err: thrown };
  }
  if (thrown instanceof ApiError && status !== 500) return { level: 'info', text: 'request refused' };
  return { level: 'error', text: 'request failed', err: thrown };
}
