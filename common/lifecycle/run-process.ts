import { setTimeout as sleep } from 'node:timers/promises';
import { bootstrap } from '../auth/bootstrap.ts';
import { createTokenCommands, type TokenOrder } from '../auth/issue-token.ts';
import { type Config, readConfig } from '../config/read-config.ts';
import type { TracingConfig } from '../config/read-tracing.ts';
import { secretsOf } from '../config/secrets-of.ts';
import { shuttingDown, stillStarting } from '../errors/catalogue.ts';
import { type HttpServer, startHttpServer } from '../http/http-server.ts';
import type { Route } from '../http/http-types.ts';
import { createLog, type Log } from '../log/log.ts';
import { createMetrics, type Metrics } from '../metrics/create-metrics.ts';
import { descriptionRoutes } from '../process-routes/description-routes.ts';
import { dashboardOf, frontPageRoute } from '../process-routes/front-page.ts';
import { healthRoutes, type ReadinessCheck } from '../process-routes/health-routes.ts';
import { metricsRoute } from '../process-routes/metrics-route.ts';
import type { Tracing } from '../tracing/tracing.ts';
import { closeTimeout } from './close-timeout.ts';
import { commandLine } from './command-line.ts';
import { type Commands, runCommand, serveControlSocket } from './control-socket.ts';
import { failStart } from './fail-start.ts';
import { type Examples, firstStartText } from './first-start-text.ts';
import { helpIfAsked } from './help.ts';
import { listenedUrl, reachText } from './listened-addresses.ts';
import { openServices, type Services } from './open-services.ts';
import { stopOnSignals } from './stop-signals.ts';
import { readAllMetrics } from './workers/read-all-metrics.ts';
import { superviseWorkers } from './workers/supervisor.ts';
import { linkToSupervisor, type SupervisorLink } from './workers/supervisor-link.ts';
import { createUploadLedger, type UploadLedger } from './workers/upload-ledger.ts';
import { readWorkerArguments } from './workers/worker-arguments.ts';

/** For what the supervisor knows by itself. Milliseconds. */
const questionTimeout = 10_000;

/** A service as a process runs it: its routes, and what it opened for them. */
export interface Service {
  readonly routes: readonly Route[];
  readonly readiness: readonly ReadinessCheck[];
  /** What the first start shows. */
  readonly examples: Examples;
  /** Called once the process serves requests, in one worker of several. */
  started?(): void;
  /** Cleans up after uploads of a worker that died. Answers what was found and done. @param keys of their objects */
  sweep?(keys: readonly string[]): Promise<unknown>;
  /** What its operator may ask of it while it runs. */
  readonly commands?: Commands;
  close(): Promise<void>;
}

/** What a service stands on: the stores, and what the process knows of itself. */
export interface ProcessServices extends Services {
  readonly uploads: UploadLedger;
  readonly metrics: Metrics;
}

/** Makes a service on the stores that a process opened. @param baseUrl of the process, without trailing slash */
export type ServiceFactory = (services: ProcessServices, baseUrl: () => string) => Promise<Service>;

const help = `
Serves until it is stopped (Ctrl-C, SIGTERM).

  ${commandLine('start')}     uploads, records and the dashboard on one port
  ${commandLine('gateway')}   uploads and downloads alone
  ${commandLine('query')}     records alone
  ${commandLine('console')}   the dashboard alone

Settings are environment variables; docs/configuration.md lists them all. The most important ones:

  HOST, PORT       where to listen (127.0.0.1, 8080)
  DATA_DIR         where the database and the files are kept (./data)
  PUBLIC_URL       the address that clients use, if it is another one
  BOOTSTRAP_TOKEN  the first access token (random)
`;

/** Runs services on one port until a signal stops the process, or several workers do. */
export async function runProcess(factories: readonly ServiceFactory[]): Promise<void> {
  helpIfAsked(help);
  try {
    const config = readConfig(process.env);
    const secrets = secretsOf(config);
    const worker = readWorkerArguments(process.argv.slice(2));
    if (worker !== null) {
      const link = linkToSupervisor();
      const log = createLog(config.logLevel, { facts: { worker: worker.index }, secrets });
      await start({ ...config, port: worker.port }, log, factories, { index: worker.index, link });
    } else if (config.workers > 1) {
      await superviseWorkers(config, createLog(config.logLevel, { secrets }));
    } else {
      await start(config, createLog(config.logLevel, { secrets }), factories, null);
    }
  } catch (error) {
    failStart(error);
  }
}

/** @param worker null: this process is alone on its port */
async function start(
  config: Config,
  log: Log,
  factories: readonly ServiceFactory[],
  worker: { readonly index: number; readonly link: SupervisorLink } | null,
): Promise<void> {
  const tracing = config.tracing === undefined ? undefined : await loadTracing(config.tracing, log);
  const measured = createMetrics({ worker: worker?.index ?? 1 });
  const observeCall = tracing?.traced(measured.observeCall) ?? measured.observeCall;
  const metrics = { ...measured, observeCall };
  const services = await openServices(config, log, metrics);
  const running: Service[] = [];
  try {
    await serve({ config, log, factories, worker, services, running, tracing, metrics });
  } catch (error) {
    // an engine that still works when the process exits takes it down with a fatal signal
    for (const service of running) await service.close();
    await services.close();
    throw error;
  }
}

/** @param args.running gets the services as they start */
async function serve(args: {
  readonly config: Config;
  readonly log: Log;
  readonly factories: readonly ServiceFactory[];
  readonly worker: { readonly index: number; readonly link: SupervisorLink } | null;
  readonly services: Services;
  readonly running: Service[];
  readonly tracing: Tracing | undefined;
  readonly metrics: Metrics;
}): Promise<void> {
  const { config, log, factories, worker, services, running, tracing, metrics } = args;
  const { users, tokens, tokenCheck } = services;
  // one process does what is done once
  const first = worker === null || worker.index === 1;
  const makeToken = () => bootstrap({ users, tokens, token: config.bootstrapToken });
  // who knows a configured token may ask as soon as anything listens
  const configured = first && config.bootstrapToken !== undefined && (await makeToken()) !== null;
  let server: HttpServer | null = null;
  let stopping = false;
  // who connects before may be with the supervisor, which refuses, and then closes
  let starting = worker !== null;
  const baseUrl = (): string => config.publicUrl ?? listenedUrl(config, server?.port ?? config.port);
  const uploads = worker === null ? createUploadLedger() : ledgerOf(worker.link);
  for (const factory of factories) running.push(await factory({ ...services, uploads, metrics }, baseUrl));
  const readiness = [
    { name: 'the database', check: (signal: AbortSignal) => services.db.ready(signal) },
    ...running.flatMap(({ readiness }) => readiness),
  ];
  const serviceRoutes = running.flatMap((service) => service.routes);
  const routes = [
    frontPageRoute(serviceRoutes),
    ...healthRoutes(readiness, () => {
      if (stopping) return shuttingDown();
      return starting ? stillStarting() : null;
    }),
    metricsRoute({
      token: config.metricsToken,
      read: () => readAllMetrics({ metrics, link: worker?.link, worker: worker?.index ?? 1, log }),
    }),
    ...serviceRoutes,
  ];
  server = await startHttpServer({
    ...config,
    sharedPort: worker !== null,
    routes: [...routes, ...descriptionRoutes({ routes, publicUrl: config.publicUrl, baseUrl })],
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
  measureProcess(metrics, { server, db: services.db });
  const invalidate = (hash: string): Promise<boolean> => {
    // Redis tells the other workers as well
    if (services.redis === undefined) worker?.link.tell('token-changed', hash);
    return tokenCheck.invalidate(hash);
  };
  const tokenCommands = createTokenCommands({ users, tokens, tokenCheck: { invalidate } });
  const commands: Commands = {
    token: (order) => tokenCommands.execute(order as TokenOrder),
    ...Object.assign({}, ...running.map((service) => service.commands)),
  };
  // the supervisor takes the commands for its workers
  const socket =
    worker === null ? await serveControlSocket({ dataDir: config.dataDir, commands, log }) : null;

  const stop = async (): Promise<void> => {
    stopping = true;
    server?.announceStop();
    await sleep(config.drainDelay);
    await server?.close(config.drainTimeout);
    await socket?.close();
    for (const service of running) await service.close();
    await services.close();
    await tracing?.close();
  };
  const stopNow = stopOnSignals({
    stop,
    limit: config.drainDelay + config.drainTimeout + closeTimeout,
    waitsFor() {
      const seconds = (config.drainDelay + config.drainTimeout) / 1000;
      const count = server?.activeRequests ?? 0;
      return `${count} request${count === 1 ? '' : 's'}, ${seconds} s at most`;
    },
    log,
  });

  if (first) {
    // the address is ours by now, so a token that is shown this once can't get lost to a failing start
    const made = config.bootstrapToken === undefined ? await makeToken() : null;
    if (configured || made !== null) {
      const examples = running.map((service) => service.examples);
      const dashboard = dashboardOf(serviceRoutes);
      process.stdout.write(firstStartText(baseUrl(), made, { examples, dashboard }));
    }
    for (const service of running) service.started?.();
  }
  if (worker === null) {
    const port = server.port;
    process.stdout.write(`Sluice listens on ${baseUrl()}\n${reachText(config, port)}`);
    return;
  }
  const { link } = worker;
  link.on('port-released', () => {
    starting = false;
  });
  link.onLost(() => stopNow('the supervisor is gone'));
  link.on('token-changed', (hash: string) => void tokenCheck.invalidate(hash));
  link.answer('metrics', () => metrics.json());
  link.answer('command', ({ name, order }: { name: string; order: unknown }) =>
    runCommand(commands, name, order),
  );
  const sweep = running.find((service) => service.sweep !== undefined)?.sweep;
  if (sweep !== undefined) link.answer('sweep', (keys: string[]) => sweep(keys));
  link.tell('listening', { url: baseUrl(), commands: Object.keys(commands) });
}

/** The SDK is loaded only where there is a collector. */
async function loadTracing(config: TracingConfig, log: Log): Promise<Tracing> {
  const { openTracing } = await import('../tracing/open-tracing.ts');
  return openTracing(config, log);
}

function ledgerOf(link: SupervisorLink): UploadLedger {
  return createUploadLedger(
    (news, sent) => link.tell('uploads', news, sent),
    async () => (await link.ask('open-uploads', null, questionTimeout)) as readonly string[],
  );
}

function measureProcess(metrics: Metrics, { server, db }: { server: HttpServer; db: Services['db'] }): void {
  metrics.gauge('sluice_http_requests_in_flight', 'Requests that are not over', () => server.activeRequests);
  metrics.gauge(
    'sluice_database_statements_in_flight',
    'Statements that the database has not answered',
    () => db.statementsInFlight,
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
    () => small.waiting + large.waiting,
  );
}
