/** Moves a record space to another store of CLICKHOUSE_URL, while it is read and written (docs/clickhouse.md). */
import { parseArgs } from 'node:util';
import { readConfig } from './common/config/read-config.ts';
import { secretsOf } from './common/config/secrets-of.ts';
import { CommandError } from './common/errors/command-error.ts';
import { commandLine, failStart, helpIfAsked } from './common/lifecycle/command-line.ts';
import { openServices } from './common/lifecycle/open-services.ts';
import { createLog } from './common/log/log.ts';
import { moveSpaceOf } from './query/space/move-space.ts';

helpIfAsked(`Moves a record space to another store of CLICKHOUSE_URL. It is read and written meanwhile.

  ${commandLine('move-space', 'PROJECT/SPACE STORE [--user EMAIL]')}

  STORE          host and port of an address of the store
  --user EMAIL   the account, where several have such a space
  --help         this text

It tells its progress. When it is cut off, the space is whole in one of the two stores: run it again.
`);
const stopped = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const)
  process.once(name, () => stopped.abort(new CommandError('it was stopped: the same command goes on')));
try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { user: { type: 'string' } },
  });
  const [path = '', store = '', ...rest] = positionals;
  const [project = '', slug = '', ...more] = path.split('/');
  if (project === '' || slug === '' || store === '' || rest.length + more.length > 0)
    throw new CommandError('it takes PROJECT/SPACE and STORE; --help says more');
  const config = readConfig(process.env);
  if (config.clickhouse === undefined)
    throw new CommandError('CLICKHOUSE_URL is not set: there is one store');
  const log = createLog('warn', { secrets: secretsOf(config) });
  const services = await openServices(config, log);
  try {
    await moveSpaceOf(
      services,
      { project, slug, store, email: values.user, report: (text) => process.stdout.write(`${text}\n`) },
      stopped.signal,
    );
  } finally {
    await services.close();
  }
} catch (error) {
  failStart(stopped.signal.aborted ? stopped.signal.reason : error);
}
