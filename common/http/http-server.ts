import type * as Uws from 'uWebSockets.js';
import type { BlockList } from 'node:net';
import { ApiError } from '../errors/api-error.ts';
import {
  deadlineExceeded,
  httpsRequired,
  malformedRequest,
  nothingHere,
  requestTimeout,
  shuttingDown,
} from '../errors/catalogue.ts';
import { renderError, visibleError } from '../errors/render-error.ts';
import type { Log } from '../log/log.ts';
import { createCorsPolicy } from './cors.ts';
import { Exchange } from './exchange.ts';
import type { HttpObserver } from './http-observer.ts';
import type { HttpResponse, Route } from './http-types.ts';
import { listenOn } from './listen-on.ts';
import { MemoryBudget } from './memory-budget.ts';
import { Router } from './router.ts';
import { clientAddress, createTransportPolicy, isLoopback } from './transport-policy.ts';
import { loadUws } from './uws.ts';
import { isStream, restIsSmall, writeAndLinger, writeStream, writeWhole } from './write-response.ts';

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
  /** Told of every request that is over. */
  readonly observer?: HttpObserver;
  readonly log: Log;
}

export interface HttpServer {
  readonly port: number;
  /** Requests that are not over. */
  readonly activeRequests: number;
  /** From now on each answer closes its connection, so that clients look for another server. */
  announceStop(): void;
  /**
   * Stops accepting connections, lets requests finish for `drainTimeout` ms, with those that still come on open
   * connections, answers 503 to the rest, and closes.
   */
  close(drainTimeout: number): Promise<void>;
}

/** Bytes of JSON bodies that a process holds at once. */
const bodyMemory = 256 * 1024 * 1024;
/** How the rest of a refused body is let in; see writeAndLinger. */
const linger = { bytes: 256 * 1024, milliseconds: 2000 };
const tickMilliseconds = 250;
/** uWebSockets.js cuts a connection that moves less than 16 KB/s for 10 s; a pause and resume sets its clock anew. */
const rearmTicks = 16;

/** Serves routes until it is closed. Rejects when the address can't be listened on. */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const uws = loadUws();
  const { log } = options;
  const router = new Router(options.routes);
  const cors = createCorsPolicy(options.corsOrigins);
  const transport = createTransportPolicy({
    tls: options.tls !== undefined,
    trustedProxies: options.trustedProxies,
  });
  const budget = new MemoryBudget(bodyMemory);
  const active = new Set<Exchange>();
  const { observer } = options;
  let draining = false;
  let over = false;
  let onIdle: () => void = () => {};

  const accept = (res: Uws.HttpResponse, req: Uws.HttpRequest): void => {
    const exchange = new Exchange(res, req, budget);
    res.onAborted(() => exchange.connectionLost());
    if (!exchange.body.complete) res.onData((chunk, isLast) => exchange.body.push(chunk, isLast));
    active.add(exchange);
    void serve(exchange).finally(() => {
      exchange.body.releaseMemory();
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
    if (observer === undefined) return;
    countBytes(exchange);
    const seconds = (performance.now() - exchange.startedAt) / 1000;
    observer.answered(exchange.route, exchange.method, exchange.headSent ? exchange.status : null, seconds);
  };

  const serve = async (exchange: Exchange): Promise<void> => {
    let response: HttpResponse;
    try {
      const answer = route(exchange);
      response = answer instanceof Promise ? await unlessGivenUp(exchange, answer) : answer;
    } catch (thrown) {
      response = failure(exchange, thrown);
    }
    try {
      await send(exchange, response);
    } catch (thrown) {
      const failed = failure(exchange, thrown);
      if (exchange.aborted) return;
      // a cut connection tells the client that the answer is not complete
      if (exchange.headSent) exchange.res.close();
      else await send(exchange, failed);
    }
  };

  const route = (exchange: Exchange): HttpResponse | Promise<HttpResponse> => {
    if (over) throw shuttingDown();
    const peer = peerAddress(exchange);
    exchange.address = clientAddress(peer, exchange.header('x-forwarded-for'), options.trustedProxies);
    if (exchange.unclearLength) throw malformedRequest('The request has several Content-Length headers');
    if (exchange.method === 'OPTIONS') return describeMethods(exchange);
    const { route, params } = router.match(exchange.method, exchange.path);
    exchange.route = route.path;
    if (route.localOnly === true && !isLocal(exchange)) throw nothingHere();
    if (route.allowPlainHttp !== true && !transport.allows(peer, exchange.header('x-forwarded-proto'))) {
      throw httpsRequired();
    }
    exchange.params = params;
    exchange.transfersBytes = route.transfersBytes === true;
    return route.handler(exchange);
  };

  const describeMethods = (exchange: Exchange): HttpResponse => {
    const allow = router.allowed(exchange.path);
    if (allow.length === 0) throw nothingHere();
    const origin = exchange.header('origin');
    const preflight = exchange.header('access-control-request-method') !== undefined;
    return {
      status: 204,
      headers: {
        allow: allow.join(', '),
        ...(origin !== undefined && preflight
          ? cors.preflightHeaders(origin, exchange.header('access-control-request-headers'), allow)
          : {}),
      },
    };
  };

  const send = async (exchange: Exchange, response: HttpResponse): Promise<void> => {
    if (exchange.aborted) return dispose(response);
    const origin = exchange.header('origin');
    const headers = {
      ...(origin === undefined ? {} : cors.answerHeaders(origin)),
      ...response.headers,
      'x-request-id': exchange.id,
    };
    log.debug(
      { requestId: exchange.id, method: exchange.method, path: exchange.path, status: response.status },
      'answered',
    );
    exchange.status = response.status;
    if (isStream(response.body)) await writeStream(exchange, response, headers, draining);
    // a client that stalls is not waited for again
    else if (response.status !== 408 && restIsSmall(exchange))
      writeWhole(exchange, response, headers, draining || exchange.unclearLength);
    else await writeAndLinger(exchange, response, headers, linger);
  };

  /** Logs what went wrong, and makes the answer that the client may see. */
  const failure = (exchange: Exchange, thrown: unknown): HttpResponse => {
    const error = visibleError(exchange.abortReason ?? thrown);
    const facts = {
      requestId: exchange.id,
      method: exchange.method,
      path: exchange.path,
      status: error.status,
      code: error.code,
    };
    if (exchange.aborted) log.debug({ ...facts, err: thrown }, 'request ended without its client');
    else if (thrown instanceof ApiError && error.status > 500 && thrown.cause !== undefined) {
      // a store that is away or overloaded, which its operator should hear of
      log.warn({ ...facts, err: thrown }, 'request failed for now');
    } else if (thrown instanceof ApiError && error.status !== 500) log.debug(facts, 'request refused');
    else log.error({ ...facts, err: thrown }, 'request failed');
    return {
      status: error.status,
      headers: { 'content-type': 'application/json; charset=utf-8', ...error.headers },
      body: renderError(error, exchange),
    };
  };

  let ticks = 0;
  const tick = (): void => {
    ticks++;
    const now = performance.now();
    for (const exchange of active) {
      if (exchange.aborted) continue;
      countBytes(exchange);
      watch(exchange, now);
      if (ticks % rearmTicks === 0 && !exchange.aborted && (exchange.body.reading || exchange.writing)) {
        exchange.res.pause();
        exchange.res.resume();
      }
    }
  };
  const watch = (exchange: Exchange, now: number): void => {
    const { body } = exchange;
    if (exchange.writing) {
      if (now - exchange.lastWrite > options.bodyIdleTimeout) exchange.res.close();
    } else if (exchange.headSent) {
      // lingering, or waiting for a source that has its own deadlines
    } else if (body.reading) {
      if (now - body.lastActivity > options.bodyIdleTimeout) {
        exchange.giveUp(requestTimeout(`The request body stalled for ${options.bodyIdleTimeout} ms`));
      }
    } else if (!exchange.transfersBytes && now - body.lastActivity > options.requestTimeout) {
      exchange.giveUp(deadlineExceeded(options.requestTimeout));
    }
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
    await idleWithin(drainTimeout);
    over = true;
    for (const exchange of active) exchange.giveUp(shuttingDown());
    await idleWithin(linger.milliseconds + 1000);
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

function peerAddress(exchange: Exchange): string {
  return Buffer.from(exchange.res.getRemoteAddressAsText()).toString('latin1');
}

/** Whether it comes from this machine, and not through a proxy on it. */
function isLocal(exchange: Exchange): boolean {
  const proxied = ['forwarded', 'x-forwarded-for', 'x-forwarded-proto', 'x-real-ip', 'via'];
  return isLoopback(peerAddress(exchange)) && proxied.every((name) => exchange.header(name) === undefined);
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
