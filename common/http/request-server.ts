import type * as Uws from 'uWebSockets.js';
import type { FinishedRequest } from '../calls/http-observer.ts';
import { shuttingDown } from '../errors/catalogue.ts';
import { withActiveSpan } from '../tracing/active-span.ts';
import { type BodyMemory, createBodyMemory } from './body-memory.ts';
import { ChunkJoiner } from './chunk-joiner.ts';
import { Dispatcher } from './dispatcher.ts';
import { Exchange } from './exchange.ts';
import { failureAnswer } from './failure-answer.ts';
import type { HttpServerOptions } from './http-server.ts';
import type { HttpResponse } from './http-types.ts';
import { Linger, shortLinger } from './linger.ts';
import { logRequest } from './log-request.ts';
import { Watchdog } from './watchdog.ts';
import { isStream, restIsSmall, writeStream, writeWhole } from './write-response.ts';

/** Answers the requests of a server, from their heads to the ends of their answers, and knows which are under way. */
export class RequestServer {
  readonly #options: HttpServerOptions;
  readonly #dispatcher: Dispatcher;
  readonly #watchdog: Watchdog;
  readonly #shared = { memory: createBodyMemory(), joiner: new ChunkJoiner() };
  readonly #active = new Set<Exchange>();
  readonly #linger = new Linger();
  #draining = false;
  #onIdle: () => void = () => {};

  constructor(options: HttpServerOptions) {
    this.#options = options;
    this.#dispatcher = new Dispatcher({ ...options, tls: options.tls !== undefined });
    this.#watchdog = new Watchdog(options);
  }

  /** Requests that are not over. */
  get active(): number {
    return this.#active.size;
  }

  get bodyMemory(): BodyMemory {
    return this.#shared.memory;
  }

  /** Takes a request. What the native side gives is read before this returns. */
  accept(res: Uws.HttpResponse, req: Uws.HttpRequest): void {
    const exchange = new Exchange(res, req, this.#shared);
    res.onAborted(() => exchange.connectionLost());
    if (!exchange.body.complete) res.onData((chunk, isLast) => exchange.body.push(chunk, isLast));
    this.#active.add(exchange);
    exchange.span = this.#options.tracing?.begin(exchange.method, (name) => exchange.header(name));
    void withActiveSpan(exchange.span, () => this.#serve(exchange)).finally(() => this.#over(exchange));
  }

  /** Looks after requests that take long. */
  tick(): void {
    for (const exchange of this.#active) if (!exchange.aborted) this.#countBytes(exchange);
    this.#watchdog.tick(this.#active);
  }

  /** From now on each answer closes its connection. */
  announceStop(): void {
    this.#draining = true;
  }

  /** Lets requests finish for so many milliseconds, and answers 503 to the rest. */
  async drain(timeout: number): Promise<void> {
    this.announceStop();
    this.#linger.hurry();
    await this.#idleWithin(timeout);
    this.#dispatcher.closed = true;
    for (const exchange of this.#active) exchange.giveUp(shuttingDown());
    await this.#idleWithin(shortLinger.milliseconds + 1000);
  }

  #idleWithin(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      if (this.#active.size === 0) return resolve();
      const timer = setTimeout(resolve, milliseconds);
      this.#onIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async #serve(exchange: Exchange): Promise<void> {
    let response: HttpResponse;
    try {
      const answer = this.#dispatcher.dispatch(exchange);
      response = answer instanceof Promise ? await unlessGivenUp(exchange, answer) : answer;
    } catch (thrown) {
      response = failureAnswer(exchange, thrown);
    }
    try {
      await this.#send(exchange, response);
    } catch (thrown) {
      const failed = failureAnswer(exchange, thrown);
      if (exchange.aborted) return;
      // a cut connection tells the client that the answer is not complete
      if (exchange.headSent) exchange.res.close();
      else await this.#send(exchange, failed);
    }
  }

  async #send(exchange: Exchange, response: HttpResponse): Promise<void> {
    if (exchange.aborted) return dispose(response);
    const headers = {
      ...this.#dispatcher.corsHeaders(exchange),
      ...response.headers,
      'x-request-id': exchange.id,
    };
    exchange.status = response.status;
    if (isStream(response.body)) await writeStream(exchange, response, headers, this.#draining);
    else if (mayGoOn(exchange, response)) writeWhole(exchange, response, headers, this.#draining);
    else await this.#linger.answer(exchange, response, headers);
  }

  #over(exchange: Exchange): void {
    exchange.over();
    this.#active.delete(exchange);
    this.#countBytes(exchange);
    const request = finished(exchange);
    this.#options.observer?.answered(request);
    exchange.span?.end(request, exchange.failure?.code);
    logRequest(this.#options.log, request, exchange);
    if (this.#active.size === 0) this.#onIdle();
  }

  #countBytes(exchange: Exchange): void {
    const { received } = exchange.body;
    if (received === exchange.countedBytes) return;
    this.#options.observer?.received(exchange.route, received - exchange.countedBytes);
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
