import type * as Uws from 'uWebSockets.js';
import type { BodyMemory } from './body-memory.ts';
import type { HttpServerOptions } from './http-types.ts';
import { listenOn } from './listen-on.ts';
import { RequestServer } from './request-server.ts';
import { loadUws } from './uws.ts';
import { tickMilliseconds } from './watchdog.ts';

export interface HttpServer {
  readonly port: number;
  /** Requests in flight. */
  readonly activeRequests: number;
  readonly bodyMemory: BodyMemory;
  /** From now on each answer closes its connection, so that clients connect to another server. */
  announceStop(): void;
  /**
   * Stops accepting connections, lets requests finish for `drainTimeout` ms, including new ones on open connections,
   * answers 503 to the rest, and closes.
   */
  close(drainTimeout: number): Promise<void>;
}

/** Serves routes until it is closed. Rejects if it can't listen on the address. */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const uws = loadUws();
  const requests = new RequestServer(options);
  const onConnection = (res: Uws.HttpResponse, change: number): void => {
    if (change === 1) requests.connected(res);
  };
  const app = createApp(uws, options.tls)
    .filter(onConnection as Parameters<Uws.TemplatedApp['filter']>[0])
    .any('/*', (res, req) => requests.accept(res, req));
  const token = await listenOn(app, options, options.sharedPort === true ? 'shared' : 'exclusive');
  const ticker = setInterval(() => requests.tick(), tickMilliseconds);
  const close = async (drainTimeout: number): Promise<void> => {
    uws.us_listen_socket_close(token);
    await requests.drain(drainTimeout);
    clearInterval(ticker);
    // an answer is flushed when the callback that wrote it returns, and this may run inside that callback
    await new Promise(setImmediate);
    app.close();
  };
  let closing: Promise<void> | null = null;
  return {
    port: uws.us_socket_local_port(token),
    get activeRequests() {
      return requests.active;
    },
    bodyMemory: requests.bodyMemory,
    announceStop: () => requests.announceStop(),
    close(drainTimeout) {
      // a second call would access freed native memory
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
