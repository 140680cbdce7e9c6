/**
 * Creates SQL views, with or without a running server: one view for each record space in the database `<database>_views`,
 * with a column for each field (docs/records.md). Prints their names. Run it again after a change of structures.
 */
import { parseArgs } from 'node:util';
import { commandLine } from '#process/lifecycle/command-line.ts';
import { runCommand } from '#process/lifecycle/run-command.ts';
import { openCatalogue } from '#query/space/logged-catalogue.ts';
import { makeSpaceViews, type ViewsOrder } from '#query/space/space-views.ts';

await runCommand<ViewsOrder>({
  name: 'sql-views',
  help: `Makes a readable view of each record space in the database <database>_views, or replaces it.

  ${commandLine('sql-views', '[--user EMAIL] [--project SLUG]')}

  --user EMAIL     only spaces of this account
  --project SLUG   only spaces of projects with this slug
  --help           this text

A line a view goes to standard output: its name, the account, and the space. docs/records.md says more.
`,
  readOrder() {
    const { user, project } = parseArgs({
      options: { user: { type: 'string' }, project: { type: 'string' } },
    }).values;
    return {
      ...(user === undefined ? {} : { email: user }),
      ...(project === undefined ? {} : { project }),
    };
  },
  // there may be many
  timeout: 3_600_000,
  async offline(services, order) {
    const catalogue = await openCatalogue(services);
    try {
      return await makeSpaceViews({ ...services, catalogue }, order);
    } finally {
      await catalogue.close();
    }
  },
});
