/**
 * Makes views for people with SQL, whether the server runs or not: one a record space, in the database
 * `<database>_views`, with a column a field (docs/records.md). Prints their names. Run it again when structures changed.
 */
import { parseArgs } from 'node:util';
import { type Config, readConfig } from './common/config/read-config.ts';
import { secretsOf } from './common/config/secrets-of.ts';
import { sendCommand } from './common/lifecycle/control-socket.ts';
import { failStart } from './common/lifecycle/fail-start.ts';
import { openServices } from './common/lifecycle/open-services.ts';
import { createLog } from './common/log/log.ts';
import { openCatalogue } from './query/space/logged-catalogue.ts';
import { makeSpaceViews, type ViewsOrder } from './query/space/space-views.ts';

const help = `Makes a readable view of each record space in the database <database>_views, or replaces it.

  npm run -s sql-views -- [--user EMAIL] [--project SLUG]

  --user EMAIL     only spaces of this account
  --project SLUG   only spaces of projects with this slug
  --help           this text

A line a view goes to standard output: its name, the account, and the space. docs/records.md says more.
`;

/** There may be many. Milliseconds. */
const timeout = 3_600_000;

/** Null: only help is asked for. */
function readOrder(): ViewsOrder | null {
  const { values } = parseArgs({
    options: { user: { type: 'string' }, project: { type: 'string' }, help: { type: 'boolean' } },
  });
  if (values.help) return null;
  return {
    ...(values.user === undefined ? {} : { email: values.user }),
    ...(values.project === undefined ? {} : { project: values.project }),
  };
}

async function executeAlone(config: Config, order: ViewsOrder): Promise<string> {
  const log = createLog(config.logLevel === 'info' ? 'warn' : config.logLevel, {
    secrets: secretsOf(config),
  });
  const services = await openServices(config, log);
  try {
    const catalogue = await openCatalogue(services);
    try {
      return await makeSpaceViews({ ...services, catalogue }, order);
    } finally {
      await catalogue.close();
    }
  } finally {
    await services.close();
  }
}

try {
  const order = readOrder();
  if (order === null) {
    process.stdout.write(help);
  } else {
    const config = readConfig(process.env);
    const text =
      (await sendCommand({ dataDir: config.dataDir, command: 'sql-views', order, timeout })) ??
      (await executeAlone(config, order));
    process.stdout.write(`${text}\n`);
  }
} catch (error) {
  failStart(error);
}
