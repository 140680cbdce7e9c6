import { parseArgs } from 'node:util';
import { commandLine } from '#process/lifecycle/command-line.ts';
import { runCommand } from '#process/lifecycle/run-command.ts';
import { withGateway } from './with-gateway.ts';

await runCommand({
  name: 'quarantine',
  help: `
Lists the files that the virus scanner holds back: those that it has not passed yet, and those that it refused.

  ${commandLine('quarantine', '[--publish NAME]...')}

  --publish NAME   publishes this file, whatever the scanner says

Files larger than SCAN_MAX_BYTES wait for this command, unless SCAN_POLICY says otherwise. The server and its database are
looked for in DATA_DIR (./data), or at CLICKHOUSE_URL.
`,
  readOrder() {
    const { values } = parseArgs({ options: { publish: { type: 'string', multiple: true, default: [] } } });
    return { publish: values.publish };
  },
  offline: (services, order) => withGateway(services, ({ commands }) => commands?.quarantine?.(order)),
});
