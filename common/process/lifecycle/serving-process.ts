import { setTimeout as sleep } from 'node:timers/promises';
import { bootstrap, executeTokenOrder, type TokenOrder } from '#auth/execute-token-order.ts';
import type { Config } from '#kernel/config/read-config.ts';
import { shuttingDown, stillStarting } from '#kernel/errors/catalogue.ts';
import type { Log } from '#kernel/log/log.ts';
import type { Metrics } from '#kernel/telemetry/create-metrics.ts';
import { renderMetrics } from '#kernel/telemetry/render-metrics.ts';
import type { Tracing } from '#kernel/telemetry/tracing.ts';
import { type HttpServer, startHttpServer } from '#server/http/http-server.ts';
import type { Route } from '#server/http/http-types.ts';
import { descriptionRoutes } from '../process-routes/description-routes.ts';
import { dashboardOf, frontPageRoute } from '../process-routes/front-page-route.ts';
import { healthRoutes } from '../process-routes/health-routes.ts';
import { metricsRoute } from '../process-routes/metrics-route.ts';
import { type Commands, serveControlSocket } from './control-socket.ts';
import { dashboardLine, firstStartText } from './first-start-text.ts';
import { listenedUrl, reachText } from './listened-addresses.ts';
import type { Services } from './open-services.ts';
import type { Service, ServiceFactory } from './service.ts';
import { closeTimeout, stopOnSignals } from './stop-signals.ts';
import type { Peer } from './workers/peer.ts';
import { createRunningUploads } from './workers/running-uploads.ts';
import type { GatheredMetrics } from './workers/supervisor.ts';
import type { WorkerPlace } from './workers/worker-place.ts';

/** Deadline of the supervisor's answer, longer than it waits for the workers' metrics. Milliseconds. */
const answerTimeout = 10_000;

export interface ServingProcessDeps {
  readonly config: Config;
  readonly log: Log;
  readonly factories: readonly ServiceFactory[];
  /** Null: there are no workers. */
  readonly worker: WorkerPlace | null;
  readonly services: Services;
  /** Loads the modules of the services. */
  readonly running: Service[];
  readonly tracing: Tracing;
  readonly metrics: Metrics;
}

/** A serving process, from its start to the end of its drain. */
export class ServingProcess {
  readonly #deps: ServingProcessDeps;
  /** Whether this process does the work that only one worker may do. */
  readonly #first: boolean;
  #server: HttpServer | null = null;
  #socket: { close(): Promise<void> } | null = null;
  #routes: readonly Route[] = [];
  #stopping = false;
  /** Reports that this worker listens. An earlier connection may be with the supervisor, which answers 503 and closes. */
  #starting: boolean;

  constructor(deps: ServingProcessDeps) {
    const { worker } = deps;
    this.#deps = deps;
    this.#first = worker === null || worker.index === 1;
    this.#starting = worker !== null;
  }

  async start(): Promise<void> {
    const { config, log, worker, running } = this.#deps;
    // a client with a configured token may send requests as soon as the port is open
    const configured =
      this.#first && config.bootstrapToken !== undefined && (await this.#makeToken()) !== null;
    await this.#startServices();
    const server = await this.#listen();
    if (this.#first) {
      const { dataDir } = config;
      this.#socket = await serveControlSocket({ dataDir, commands: this.#commands(), log });
    }
    const stopNow = this.#stopOnSignals();
    const announced = this.#first && (await this.#announceTokens(configured));
    if (worker !== null) await this.#joinSupervisor(worker.supervisor, stopNow);
    this.#starting = false;
    if (!this.#first) return;
    for (const service of running) service.started?.();
    this.#deps.services.removals.start();
    // the text of the first start includes the dashboard
    const note = announced ? '' : dashboardLine(this.#baseUrl(), dashboardOf(this.#routes));
    process.stdout.write(`Sluice listens on ${this.#baseUrl()}\n${note}${reachText(config, server.port)}`);
  }

  #baseUrl(): string {
    const { config } = this.#deps;
    return config.publicUrl ?? listenedUrl(config, this.#server?.port ?? config.port);
  }

  #makeToken(): ReturnType<typeof bootstrap> {
    const { config, services } = this.#deps;
    return bootstrap({ users: services.users, tokens: services.tokens, token: config.bootstrapToken });
  }

  async #startServices(): Promise<void> {
    const { factories, services, running, metrics } = this.#deps;
    const uploads = createRunningUploads();
    for (const factory of factories) {
      running.push(await factory({ ...services, uploads, metrics }, () => this.#baseUrl()));
    }
    this.#routes = running.flatMap((service) => service.routes);
  }

  async #listen(): Promise<HttpServer> {
    const { config, log, worker, services, tracing, metrics } = this.#deps;
    const routes = this.#allRoutes();
    const { publicUrl } = config;
    const server = await startHttpServer({
      ...config,
      sharedPort: worker !== null,
      routes: [...routes, ...descriptionRoutes({ routes, publicUrl, baseUrl: () => this.#baseUrl() })],
      addressLimiter: services.limiters.address,
      observer: {
        ...metrics.observer,
        answered(request) {
          metrics.observer.answered(request);
          services.usage.answered(request);
        },
      },
      tracing,
      log,
    });
    this.#server = server;
    measureProcess(metrics, { server, db: services.db });
    return server;
  }

  #allRoutes(): Route[] {
    const { config, services, running } = this.#deps;
    const readiness = [
      { name: 'the database', check: (signal: AbortSignal) => services.db.ready(signal) },
      ...running.flatMap((service) => service.readiness),
    ];
    return [
      frontPageRoute(this.#routes),
      ...healthRoutes(
        readiness,
        () => {
          if (this.#stopping) return shuttingDown();
          return this.#starting ? stillStarting() : null;
        },
        services.db.stores,
      ),
      metricsRoute({ token: config.metricsToken, read: () => this.#readMetrics() }),
      ...this.#routes,
    ];
  }

  #commands(): Commands {
    const { services, running } = this.#deps;
    return {
      token: (order) => executeTokenOrder(services, order as TokenOrder),
      deployment: async () => services.deployment.id,
      ...Object.assign({}, ...running.map((service) => service.commands)),
    };
  }

  #stopOnSignals(): (reason: string) => void {
    const { config, log } = this.#deps;
    return stopOnSignals({
      stop: () => this.#stop(),
      limit: config.drainDelay + config.drainTimeout + closeTimeout,
      waitsFor: () => {
        const seconds = (config.drainDelay + config.drainTimeout) / 1000;
        const count = this.#server?.activeRequests ?? 0;
        return `${count} request${count === 1 ? '' : 's'}, ${seconds} s at most`;
      },
      log,
    });
  }

  async #stop(): Promise<void> {
    const { config, services, running, tracing } = this.#deps;
    this.#stopping = true;
    this.#server?.announceStop();
    await sleep(config.drainDelay);
    for (const service of running) service.draining?.();
    await this.#server?.close(config.drainTimeout);
    await this.#socket?.close();
    await services.removals.close();
    for (const service of running) await service.close();
    await services.close();
    await tracing.close();
  }

  /** Prints the text of the first start; false: this is not the first start. @param configured whether the configured token was just created */
  async #announceTokens(configured: boolean): Promise<boolean> {
    const { config, running } = this.#deps;
    // we already listen, so a failing start can't lose a token that is shown only once
    const made = config.bootstrapToken === undefined ? await this.#makeToken() : null;
    if (!configured && made === null) return false;
    const examples = running.map((service) => service.examples);
    const dashboard = dashboardOf(this.#routes);
    process.stdout.write(firstStartText(this.#baseUrl(), made, { examples, dashboard }));
    return true;
  }

  /** Resolves when only workers accept connections to the port. */
  async #joinSupervisor(supervisor: Peer, stopNow: (reason: string) => void): Promise<void> {
    supervisor.on('metrics', () => this.#deps.metrics.json());
    process.once('disconnect', () => stopNow('the supervisor is gone'));
    await supervisor.ask('listening', answerTimeout);
  }

  /** The metrics of all workers, whichever of them a scrape reaches. */
  async #readMetrics(): Promise<string> {
    const { worker, metrics } = this.#deps;
    if (worker === null) {
      return renderMetrics([await metrics.json()], [{ worker: 1, restarts: 0, answered: true }]);
    }
    const answer = await worker.supervisor.ask('metrics', answerTimeout);
    const { processes, workers } = answer as GatheredMetrics;
    return renderMetrics(processes, workers);
  }
}

function measureProcess(metrics: Metrics, { server, db }: { server: HttpServer; db: Services['db'] }): void {
  metrics.gauge('sluice_http_requests_in_flight', 'Requests that are not over', () => server.activeRequests);
  metrics.gauge(
    'sluice_database_statements_in_flight',
    'Statements that the database has not answered',
    () => db.statementsInFlight,
  );
  if (db.stores.all.length > 1)
    metrics.gauges('sluice_store_available', 'Whether a ClickHouse store answers', 'store', () =>
      Object.fromEntries(db.stores.all.map(({ name, available }) => [name, available ? 1 : 0])),
    );
  const { unidentified, small, large } = server.bodyMemory;
  metrics.gauge(
    'sluice_body_memory_used_bytes',
    'Memory that bodies of requests hold, without those of uploads',
    () => unidentified.used + small.used + large.used,
  );
  metrics.gauge(
    'sluice_bodies_waiting',
    'Times that a request waits for memory for its body',
    () => small.waiters + large.waiters,
  );
}
