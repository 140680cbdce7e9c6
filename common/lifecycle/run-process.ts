import { bootstrap } from '../auth/bootstrap.ts';
import { createTokenDesk, type TokenOrder } from '../auth/issue-token.ts';
import { type Config, readConfig } from '../config/read-config.ts';
import { healthRoutes, type ReadinessCheck } from '../http/health-routes.ts';
import { type HttpServer, startHttpServer } from '../http/http-server.ts';
import type { Route } from '../http/http-types.ts';
import { createLog } from '../log/log.ts';
import { type Commands, serveControlSocket } from './control-socket.ts';
import { failStart } from './fail-start.ts';
import { firstStartText } from './first-start-text.ts';
import { openServices, type Services } from './open-services.ts';
import { stopOnSignals } from './stop-signals.ts';

/** A service as a process runs it: its routes, and what it opened for them. */
export interface Service {
  readonly routes: readonly Route[];
  readonly readiness: readonly ReadinessCheck[];
  /** Called once the process serves requests. */
  started?(): void;
  /** What its operator may ask of it while it runs. */
  readonly commands?: Commands;
  close(): Promise<void>;
}

/** Makes a service on the stores that a process opened. @param baseUrl of the process, without trailing slash */
export type ServiceFactory = (services: Services, baseUrl: () => string) => Promise<Service>;

/** How long closing the stores may take after the drain, in milliseconds. */
const closeTimeout = 20_000;

/** Runs services on one port until a signal stops the process. */
export async function runProcess(factories: readonly ServiceFactory[]): Promise<void> {
  try {
    await start(readConfig(process.env), factories);
  } catch (error) {
    failStart(error);
  }
}

async function start(config: Config, factories: readonly ServiceFactory[]): Promise<void> {
  const log = createLog(config.logLevel);
  const services = await openServices(config, log);
  let server: HttpServer | null = null;
  const baseUrl = (): string => config.publicUrl ?? listenedUrl(config, server?.port ?? config.port);
  const running: Service[] = [];
  for (const factory of factories) running.push(await factory(services, baseUrl));
  const routes = [
    ...healthRoutes([
      { name: 'the database', check: (signal) => services.db.ready(signal) },
      ...running.flatMap(({ readiness }) => readiness),
    ]),
    ...running.flatMap((service) => service.routes),
  ];
  server = await startHttpServer({ ...config, routes, log });
  const { users, tokens, tokenCheck } = services;
  const desk = createTokenDesk({ users, tokens, tokenCheck });
  const commands: Commands = {
    token: (order) => desk.execute(order as TokenOrder),
    ...Object.assign({}, ...running.map((service) => service.commands)),
  };
  const socket = await serveControlSocket({ dataDir: config.dataDir, commands, log });

  const stop = async (): Promise<void> => {
    await server?.close(config.drainTimeout);
    await socket.close();
    for (const service of running) await service.close();
    await services.close();
  };
  stopOnSignals({ stop, limit: config.drainTimeout + closeTimeout, log });

  // the address is ours by now, so the one token that is shown can't get lost to a failing start
  const firstToken = await bootstrap({ users, tokens, token: config.bootstrapToken });
  if (firstToken !== null) process.stdout.write(firstStartText(baseUrl(), firstToken));
  for (const service of running) service.started?.();
  process.stdout.write(`Sluice listens on ${baseUrl()}\n`);
}

function listenedUrl(config: Config, port: number): string {
  const host = config.host.includes(':') ? `[${config.host}]` : config.host;
  return `${config.tls === undefined ? 'http' : 'https'}://${host}:${port}`;
}
