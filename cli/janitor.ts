import { parseArgs } from 'node:util';
import { commandLine } from '#process/lifecycle/command-line.ts';
import { runCommand } from '#process/lifecycle/run-command.ts';
import { withGateway } from './with-gateway.ts';

await runCommand({
  name: 'janitor',
  help: `
Cleans up after interrupted uploads, whether the server is running or not, and prints what it found.

  ${commandLine('janitor', '[--dry-run]')}

  --dry-run   prints what it would do, and changes nothing

The server and its database are looked for in DATA_DIR (./data), or at CLICKHOUSE_URL. Only a running server removes a
row whose file is missing, and only when it finds it missing a second time.
`,
  readOrder() {
    const { values } = parseArgs({ options: { 'dry-run': { type: 'boolean', default: false } } });
    return { dryRun: values['dry-run'] };
  },
  // there may be many objects to check
  timeout: 3_600_000,
  informs: true,
  offline: (services, order) => withGateway(services, ({ commands }) => commands?.janitor?.(order)),
});
