import { parseArgs } from 'node:util';
import { readConfig } from './common/config/read-config.ts';
import { secretsOf } from './common/config/secrets-of.ts';
import { commandLine } from './common/lifecycle/command-line.ts';
import { sendCommand } from './common/lifecycle/control-socket.ts';
import { failStart } from './common/lifecycle/fail-start.ts';
import { helpIfAsked } from './common/lifecycle/help.ts';
import { openServices } from './common/lifecycle/open-services.ts';
import { requireData } from './common/lifecycle/require-data.ts';
import { createRunningUploads } from './common/lifecycle/workers/running-uploads.ts';
import { createLog } from './common/log/log.ts';
import { createMetrics } from './common/telemetry/create-metrics.ts';
import { gatewayService } from './gateway/gateway-service.ts';

const help = `
Cleans up after interrupted uploads, whether the server is running or not, and prints what it found.

  ${commandLine('janitor', '[--dry-run]')}

  --dry-run   prints what it would do, and changes nothing

The server and its database are looked for in DATA_DIR (./data), or at CLICKHOUSE_URL. Only a running server removes a
row whose file is missing, and only when it finds it missing a second time.
`;

/** Milliseconds without an answer of the running server: it may have many objects to look at. */
const timeout = 3_600_000;

helpIfAsked(help);
try {
  const { values } = parseArgs({ options: { 'dry-run': { type: 'boolean', default: false } } });
  const order = { dryRun: values['dry-run'] };
  const config = readConfig(process.env);
  let text = await sendCommand({ dataDir: config.dataDir, command: 'janitor', order, timeout });
  if (text === null) {
    requireData(config);
    const services = await openServices(config, createLog(config.logLevel, { secrets: secretsOf(config) }));
    const gateway = await gatewayService(
      { ...services, uploads: createRunningUploads(), metrics: createMetrics({ worker: 1 }) },
      () => '',
    );
    try {
      text = (await gateway.commands?.janitor?.(order)) ?? '';
    } finally {
      await gateway.close();
      await services.close();
    }
  }
  process.stdout.write(`${text}\n`);
} catch (error) {
  failStart(error);
}
