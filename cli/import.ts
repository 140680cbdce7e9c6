/** Imports projects from the folder of an export into a running server (docs/operations.md#backup-and-restore). */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { CommandError } from '#kernel/errors/command-error.ts';
import { commandLine, failStart, helpIfAsked } from '#process/lifecycle/command-line.ts';
import { ExportFolder, type Manifest } from './transfer/export-folder.ts';
import { importProjects } from './transfer/import-projects.ts';
import { runTransfer, usualUrl } from './transfer/run-transfer.ts';
import { verifyProjects } from './transfer/verify-projects.ts';

helpIfAsked(`
Makes the projects of an export on a running server, with ids, times and hashed values as they were; or compares them.

  ${commandLine('import', 'FOLDER [--url URL] [--project SLUG ...] [--verify]')}

  --url URL       of the server; without it SLUICE_URL, or http://127.0.0.1:8080
  --project SLUG  only this project of the export, or these
  --verify        stores nothing on the server, names what differs there, and ends with status 1 if anything does

The access token is read from SLUICE_TOKEN. It needs the grants structure, find, insert, files:read, files:write and
backup. An import that was cut goes on when the command is run again. Record spaces that have records of something else are
refused.
`);

function readOrder(): { folder: string; url: string; projects: string[]; verify: boolean } {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      url: { type: 'string', default: usualUrl() },
      project: { type: 'string', multiple: true, default: [] },
      verify: { type: 'boolean', default: false },
    },
  });
  const [folder, ...rest] = positionals;
  if (folder === undefined || rest.length > 0) throw new CommandError('one FOLDER is expected; see --help');
  return { folder: resolve(folder), url: values.url, projects: values.project, verify: values.verify };
}

/** The manifest with only these projects. @param slugs empty: all */
function chosen(manifest: Manifest, slugs: readonly string[]): Manifest {
  const missing = slugs.filter((slug) => !manifest.projects.some((project) => project.slug === slug));
  if (missing.length > 0) throw new CommandError(`the export has no project ${missing.join(', ')}`);
  const projects = manifest.projects.filter(({ slug }) => slugs.length === 0 || slugs.includes(slug));
  return { ...manifest, projects };
}

try {
  const { folder: root, url, projects, verify } = readOrder();
  await runTransfer(url, async ({ server, progress }) => {
    const { folder, manifest: all } = await ExportFolder.openWhole(root);
    const deps = { server, folder, progress, manifest: chosen(all, projects) };
    if (!verify) {
      await importProjects(deps);
      progress.end(`import into ${server.url} complete`);
      return;
    }
    const differences = await verifyProjects(deps);
    progress.end(`differences: ${differences.length}`);
    for (const difference of differences) process.stdout.write(`${difference}\n`);
    if (differences.length > 0) process.exitCode = 1;
  });
} catch (error) {
  failStart(error);
}
