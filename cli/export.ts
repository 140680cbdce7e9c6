/** Exports projects of a running server into a folder (docs/operations.md#backup-and-restore). */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { CommandError } from '#kernel/errors/command-error.ts';
import { commandLine, failStart, helpIfAsked } from '#process/lifecycle/command-line.ts';
import { ExportFolder } from './transfer/export-folder.ts';
import { exportProjects } from './transfer/export-projects.ts';
import { runTransfer, usualUrl } from './transfer/run-transfer.ts';

helpIfAsked(`
Fetches record spaces, with structures, rules and records, and files of a running server into a folder, from which
the command import makes them again.

  ${commandLine('export', 'FOLDER [--url URL] [--project SLUG ...] [--again]')}

  --url URL       of the server; without it SLUICE_URL, or http://127.0.0.1:8080
  --project SLUG  only this project, or these; all of the account without it
  --again         begins anew, and removes what the folder has of an earlier export

The access token is read from SLUICE_TOKEN. It needs the grants structure, find, files:read and backup. An export that was
cut goes on when the command is run again. The folder has hashes of passwords: keep it as secret as the server's data.
`);

function readOrder(): { folder: string; url: string; projects: string[]; again: boolean } {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      url: { type: 'string', default: usualUrl() },
      project: { type: 'string', multiple: true, default: [] },
      again: { type: 'boolean', default: false },
    },
  });
  const [folder, ...rest] = positionals;
  if (folder === undefined || rest.length > 0) throw new CommandError('one FOLDER is expected; see --help');
  return { folder: resolve(folder), url: values.url, projects: values.project, again: values.again };
}

try {
  const { folder: root, url, projects, again } = readOrder();
  await runTransfer(url, async ({ server, progress }) => {
    const folder = await ExportFolder.begin(root, server.url, { again });
    const exported = await exportProjects({ server, folder, progress }, projects);
    await folder.finish(exported);
    progress.end(`export to ${root} complete`);
  });
} catch (error) {
  failStart(error);
}
