import type { BlockList } from 'node:net';
import { type Limiter, unlimited } from '#coordination/rate-limits/request-limiter.ts';
import {
  headersTooLarge,
  httpsRequired,
  malformedRequest,
  nothingHere,
  shuttingDown,
  unknownHost,
} from '#kernel/errors/catalogue.ts';
import { continueWith } from '#kernel/limits/continue-with.ts';
import { addressOwner } from './address-owner.ts';
import { CompressedAnswers } from './compressed-answers.ts';
import { type CorsAnswer, CorsPolicy } from './cors.ts';
import type { Exchange } from './exchange.ts';
import { maxHeadBytes } from './head-limits.ts';
import type { HttpResponse, HttpServerOptions, Route } from './http-types.ts';
import { createKnownHosts } from './known-hosts.ts';
import { Router } from './router.ts';
import { clientAddress, isForwarded, isLoopback, isSecure } from './transport-policy.ts';

/** Checks every request (host, HTTPS, limits), and calls the handler of its route. */
export class Dispatcher {
  readonly #router: Router;
  readonly #cors: CorsPolicy;
  readonly #transport: { readonly tls: boolean; readonly trustedProxies: BlockList | undefined };
  readonly #addressLimiter: Limiter;
  /** Null: compression is off. */
  readonly #compressed: CompressedAnswers | null;
  /** Null with TLS: the certificate proves the name. */
  readonly #isKnownHost: ((host: string) => boolean) | null;
  /** Refuses everything from now on. */
  closed = false;

  constructor(args: HttpServerOptions) {
    this.#router = new Router(args.routes);
    this.#cors = new CorsPolicy(args.corsOrigins);
    const tls = args.tls !== undefined;
    this.#transport = { tls, trustedProxies: args.trustedProxies };
    this.#addressLimiter = args.addressLimiter ?? unlimited;
    this.#compressed = args.compressAnswers === true ? new CompressedAnswers() : null;
    const { publicUrl, allowedHosts = [] } = args;
    const names = publicUrl === undefined ? allowedHosts : [...allowedHosts, new URL(publicUrl).hostname];
    this.#isKnownHost = tls ? null : createKnownHosts(names);
  }

  /** The answer of the route's handler. Throws if the request is refused. */
  dispatch(exchange: Exchange): HttpResponse | Promise<HttpResponse> {
    if (exchange.unclearFraming !== null) throw malformedRequest(exchange.unclearFraming);
    if (exchange.headBytes > maxHeadBytes) throw headersTooLarge(exchange.headBytes, maxHeadBytes);
    if (this.#isKnownHost?.(exchange.header('host') ?? '') === false && isLocal(exchange))
      throw unknownHost();
    if (exchange.method === 'OPTIONS') return this.#describeMethods(exchange);
    if (this.closed) throw shuttingDown();
    const { route, params, withoutCors } = this.#router.match(exchange.method, exchange.path);
    exchange.withoutCors = withoutCors;
    exchange.route = route.path;
    exchange.operation = route.operation ?? '';
    if (route.localOnly === true && !isLocal(exchange)) throw nothingHere();
    if (route.allowPlainHttp !== true && !isSecure(exchange, this.#transport)) throw httpsRequired();
    exchange.params = params;
    exchange.needs = route.api?.needs;
    exchange.transfersBytes = route.transfersBytes === true;
    const answer = this.#admitted(exchange, route);
    const compressed = route.compressed === true ? this.#compressed : null;
    return compressed === null ? answer : continueWith(answer, (plain) => compressed.of(exchange, plain));
  }

  #admitted(exchange: Exchange, route: Route): HttpResponse | Promise<HttpResponse> {
    // the address is only read and parsed for a limit
    if (this.#addressLimiter === unlimited || route.allowPlainHttp === true) return route.handler(exchange);
    const sender = addressOwner(exchange.address);
    const admission = this.#addressLimiter.admit(sender, (end) => exchange.onOver(end));
    return admission === undefined ? route.handler(exchange) : admission.then(() => route.handler(exchange));
  }

  /** The sender of a request. Only valid while its connection is open. */
  addressOf(exchange: Exchange): string {
    return clientAddress(exchange.peer, exchange.header('x-forwarded-for'), this.#transport.trustedProxies);
  }

  /** The CORS headers of any answer to this request; undefined: none. */
  cors(exchange: Exchange): CorsAnswer | undefined {
    // a request that was refused before routing only has a path
    exchange.withoutCors ??= this.#router.isWithoutCors(exchange.path);
    return exchange.withoutCors ? undefined : this.#cors.answerTo(exchange);
  }

  #describeMethods(exchange: Exchange): HttpResponse {
    const known = this.#router.options(exchange.path);
    const preflight = this.#router.isWithoutCors(exchange.path)
      ? {}
      : this.#cors.preflightHeaders(exchange, known?.allow ?? []);
    if (known === undefined) {
      if (!('access-control-allow-methods' in preflight)) throw nothingHere();
      return { status: 204, headers: preflight };
    }
    const allow = known.allow.join(', ');
    return { status: 204, headers: { allow, ...known.optionsHeaders, ...preflight } };
  }
}

/** Whether the request comes from this machine, and not through a proxy on it. */
function isLocal(exchange: Exchange): boolean {
  return isLoopback(exchange.peer) && !isForwarded(exchange);
}
