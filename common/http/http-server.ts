import type * as Uws from 'uWebSockets.js';
import type { BlockList } from 'node:net';
import type { FinishedRequest, HttpObserver } from '../calls/http-observer.ts';
import { shuttingDown } from '../errors/catalogue.ts';
import type { Log } from '../log/log.ts';
import type { RequestLimiter } from '../rate-limits/request-limiter.ts';
import { withActiveSpan } from '../tracing/active-span.ts';
import type { RequestTracing } from '../tracing/tracing.ts';
import { type BodyMemory, createBodyMemory } from './body-memory.ts';
import { ChunkJoiner } from './chunk-joiner.ts';
import { Dispatcher } from './dispatcher.ts';
import { Exchange } from './exchange.ts';
import { failureAnswer } from './failure-answer.ts';
import type { HttpResponse, Route } from './http-types.ts';
import { Linger, shortLinger } from './linger.ts';
import { listenOn } from './listen-on.ts';
import { logRequest } from './log-request.ts';
import { loadUws } from './uws.ts';
import { tickMilliseconds, Watchdog } from './watchdog.ts';
import { isStream, restIsSmall, writeStream, writeWhole } from './write-response.ts';

export interface HttpServerOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Other workers of the same supervisor, which claims the port for all, listen there too. */
  readonly sharedPort?: boolean;
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  readonly trustedProxies: BlockList | undefined;
  readonly corsOrigins: readonly string[];
  /** Milliseconds without a byte of a request's body, or without a byte of an answer taken. */
  readonly bodyIdleTimeout: number;
  /** Milliseconds from a request's last byte to its answer's head, except on routes that transfer bytes. */
  readonly requestTimeout: number;
  readonly routes: readonly Route[];
  /** Absent: an address may send what it likes. */
  readonly addressLimiter?: RequestLimiter | undefined;
  /** Told of every request that is over. */
  readonly observer?: HttpObserver;
  /** Absent: nothing is traced. */
  readonly tracing?: RequestTracing | undefined;
  readonly log: Log;
}

export interface HttpServer {
  readonly port: number;
  /** Requests that are not over. */
  readonly activeRequests: number;
  /** What bodies of requests hold. */
  readonly bodyMemory: BodyMemory;
  /** From now on each answer closes its connection, so that clients look for another server. */
  announceStop(): void;
  /**
   * Stops accepting connections, lets requests finish for `drainTimeout` ms, with those that still come on open
   * connections, answers 503 to the rest, and closes.
   */
  close(drainTimeout: number): Promise<void>;
}

/** Serves routes until it is closed. Rejects when the address can't be listened on. */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const uws = loadUws();
  const { log } = options;
  const dispatcher = new Dispatcher({ ...options, tls: options.tls !== undefined });
  const watchdog = new Watchdog(options);
  const shared = { memory: createBodyMemory(), joiner: new ChunkJoiner() };
  const active = new Set<Exchange>();
  const { observer } = options;
  const linger = new Linger();
  let draining = false;
  let onIdle: () => void = () => {};

  const accept = (res: Uws.HttpResponse, req: Uws.HttpRequest): void => {
    const exchange = new Exchange(res, req, shared);
    res.onAborted(() => exchange.connectionLost());
    if (!exchange.body.complete) res.onData((chunk, isLast) => exchange.body.push(chunk, isLast));
    active.add(exchange);
    exchange.span = options.tracing?.begin(exchange.method, (name) => exchange.header(name));
    void withActiveSpan(exchange.span, () => serve(exchange)).finally(() => {
      exchange.over();
      active.delete(exchange);
      observe(exchange);
      if (active.size === 0) onIdle();
    });
  };

  const countBytes = (exchange: Exchange): void => {
    const { received } = exchange.body;
    if (received === exchange.countedBytes) return;
    observer?.received(exchange.route, received - exchange.countedBytes);
    exchange.countedBytes = received;
  };
  const observe = (exchange: Exchange): void => {
    countBytes(exchange);
    const request = finished(exchange);
    observer?.answered(request);
    exchange.span?.end(request, exchange.failure?.code);
    logRequest(log, request, exchange);
  };

  const serve = async (exchange: Exchange): Promise<void> => {
    let response: HttpResponse;
    try {
      const answer = dispatcher.dispatch(exchange);
      response = answer instanceof Promise ? await unlessGivenUp(exchange, answer) : answer;
    } catch (thrown) {
      response = failureAnswer(exchange, thrown);
    }
    try {
      await send(exchange, response);
    } catch (thrown) {
      const failed = failureAnswer(exchange, thrown);
      if (exchange.aborted) return;
      // a cut connection tells the client that the answer is not complete
      if (exchange.headSent) exchange.res.close();
      else await send(exchange, failed);
    }
  };

  const send = async (exchange: Exchange, response: HttpResponse): Promise<void> => {
    if (exchange.aborted) return dispose(response);
    const headers = {
      ...dispatcher.corsHeaders(exchange),
      ...response.headers,
      'x-request-id': exchange.id,
    };
    exchange.status = response.status;
    if (isStream(response.body)) await writeStream(exchange, response, headers, draining);
    else if (mayGoOn(exchange, response)) writeWhole(exchange, response, headers, draining);
    else await linger.answer(exchange, response, headers);
  };

  const tick = (): void => {
    for (const exchange of active) if (!exchange.aborted) countBytes(exchange);
    watchdog.tick(active);
  };

  const app = createApp(uws, options.tls).any('/*', accept);
  const token = await listenOn(app, options, options.sharedPort === true ? 'shared' : 'alone');
  const ticker = setInterval(tick, tickMilliseconds);
  const idleWithin = (milliseconds: number): Promise<void> =>
    new Promise((resolve) => {
      if (active.size === 0) return resolve();
      const timer = setTimeout(resolve, milliseconds);
      onIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  const close = async (drainTimeout: number): Promise<void> => {
    draining = true;
    uws.us_listen_socket_close(token);
    linger.hurry();
    await idleWithin(drainTimeout);
    dispatcher.closed = true;
    for (const exchange of active) exchange.giveUp(shuttingDown());
    await idleWithin(shortLinger.milliseconds + 1000);
    clearInterval(ticker);
    // an answer is written when the callback that made it returns, and this may run within that
    await new Promise(setImmediate);
    app.close();
  };
  let closing: Promise<void> | null = null;
  return {
    port: uws.us_socket_local_port(token),
    get activeRequests() {
      return active.size;
    },
    bodyMemory: shared.memory,
    announceStop() {
      draining = true;
    },
    close(drainTimeout) {
      // the native side frees what a second call would touch
      closing ??= close(drainTimeout);
      return closing;
    },
  };
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
    bytesIn: exchange.body.received,
    bytesOut: exchange.sentBytes,
  };
}

function createApp(uws: typeof Uws, tls: HttpServerOptions['tls']): Uws.TemplatedApp {
  if (tls === undefined) return uws.App();
  try {
    return uws.SSLApp({ cert_file_name: tls.certFile, key_file_name: tls.keyFile });
  } catch (cause) {
    throw new Error(`TLS_CERT_FILE and TLS_KEY_FILE are not a certificate and its key in PEM form`, {
      cause,
    });
  }
}

/** Whether the connection may serve another request. */
function mayGoOn(exchange: Exchange, { status }: HttpResponse): boolean {
  // an answer that the native side knows to be whole would let it serve what follows, which may be no request at all
  if (exchange.unclearFraming !== null) return false;
  // a client that stalls is not waited for again
  return status !== 408 && restIsSmall(exchange);
}

/** Ends the source of a streamed answer that nobody will read. The request's signal has been aborted already. */
async function dispose(response: HttpResponse): Promise<void> {
  if (isStream(response.body)) await response.body.chunks[Symbol.asyncIterator]().return?.();
}

/** The handler's answer, or a rejection as soon as the exchange is given up; a later answer is disposed of. */
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
