import { misspelledVariables } from '#kernel/config/misspelled-variables.ts';
import { type Config, readConfig, variableNames } from '#kernel/config/read-config.ts';
import type { TracingConfig } from '#kernel/config/read-tracing.ts';
import { secretsOf } from '#kernel/config/secrets-of.ts';
import { createLog, type Log } from '#kernel/log/log.ts';
import { createMetrics } from '#kernel/telemetry/create-metrics.ts';
import { type Tracing, untraced } from '#kernel/telemetry/tracing.ts';
import { commandLine, failStart, helpIfAsked } from './command-line.ts';
import { endedNode } from './ended-node.ts';
import { openServices } from './open-services.ts';
import type { Service, ServiceFactory } from './service.ts';
import { ServingProcess } from './serving-process.ts';
import { type WorkerPlace, workerPlace } from './workers/worker-place.ts';

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

/** Imports the services of a process. */
type LoadServices = () => Promise<readonly ServiceFactory[]>;

/** Runs services on one port until a signal stops the process, in this process or in several workers. */
export async function runProcess(load: LoadServices): Promise<void> {
  helpIfAsked(help);
  try {
    const config = readConfig(process.env);
    const secrets = secretsOf(config);
    const worker = workerPlace(process.argv.slice(2));
    if (worker !== null) {
      const log = createLog(config.logLevel, { facts: { worker: worker.index }, secrets });
      await start({ ...config, port: worker.port }, log, load, worker);
      return;
    }
    const log = createLog(config.logLevel, { secrets });
    const problems = misspelledVariables(process.env, variableNames);
    for (const problem of [...endedNode(process.versions.node), ...problems]) log.warn(problem);
    if (config.workers > 1) await (await import('./workers/supervisor.ts')).superviseWorkers(config, log);
    else await start(config, log, load, null);
  } catch (error) {
    failStart(error);
  }
}

/** @param worker null: there are no workers */
async function start(
  config: Config,
  log: Log,
  load: LoadServices,
  worker: WorkerPlace | null,
): Promise<void> {
  const tracing = config.tracing === undefined ? untraced : await loadTracing(config.tracing, log);
  const measured = createMetrics({ worker: worker?.index ?? 1 });
  const metrics = { ...measured, observeCall: tracing.traced(measured.observeCall) };
  // the stores open while the modules load, because both mostly wait
  const loading = load();
  loading.catch(() => {});
  const services = await openServices(config, log, metrics);
  const running: Service[] = [];
  try {
    const factories = await loading;
    await new ServingProcess({ config, log, factories, worker, services, running, tracing, metrics }).start();
  } catch (error) {
    // an engine that is still working at exit crashes the process
    for (const service of running) await service.close();
    await services.close();
    throw error;
  }
}

/** The SDK is only loaded if there is a collector. */
async function loadTracing(config: TracingConfig, log: Log): Promise<Tracing> {
  const { openTracing } = await import('#kernel/telemetry/open-tracing.ts');
  return openTracing(config, log);
}
