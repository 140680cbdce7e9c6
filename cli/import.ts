/** Imports projects from the folder or the bucket of an export into a running server (docs/operations.md#backup-and-restore). */
import { parseArgs } from 'node:util';
import { CommandError } from '#kernel/errors/command-error.ts';
import { commandLine, failStart, helpIfAsked } from '#process/lifecycle/command-line.ts';
import { importProjects } from './transfer/import-projects.ts';
import { type PlaceOrder, readPlace, withPlace } from './transfer/open-place.ts';
import { runTransfer, usualUrl } from './transfer/run-transfer.ts';
import { type Manifest, StoredExport } from './transfer/stored-export.ts';
import { verifyProjects } from './transfer/verify-projects.ts';

helpIfAsked(`
Makes the projects of an export on a running server, with ids, times and hashed values as they were; or compares them.

  ${commandLine('import', 'FOLDER [--url URL] [--project SLUG ...] [--verify]')}
  ${commandLine('import', '--from s3://BUCKET/PREFIX [--url URL] [--project SLUG ...] [--verify]')}

  --from ADDRESS  streams from a bucket, with the variables S3_ENDPOINT, S3_REGION, S3_ACCESS_KEY_ID,
                  S3_SECRET_ACCESS_KEY and S3_FORCE_PATH_STYLE, as of the server
  --url URL       of the server; without it SLUICE_URL, or http://127.0.0.1:8080
  --project SLUG  only this project of the export, or these
  --verify        stores nothing on the server, names what differs there, and ends with status 1 if anything does

The access token is read from SLUICE_TOKEN. It needs the grants structure, find, insert, files:read, files:write and
backup. An import that was cut goes on when the command is run again. Record spaces that have records of something else are
refused.
`);

function readOrder(): { place: PlaceOrder; url: string; projects: string[]; verify: boolean } {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      from: { type: 'string' },
      url: { type: 'string', default: usualUrl() },
      project: { type: 'string', multiple: true, default: [] },
      verify: { type: 'boolean', default: false },
    },
  });
  const place = readPlace(positionals, { name: '--from', value: values.from });
  return { place, url: values.url, projects: values.project, verify: values.verify };
}

/** The manifest with only these projects. @param slugs empty: all */
function chosen(manifest: Manifest, slugs: readonly string[]): Manifest {
  const missing = slugs.filter((slug) => !manifest.projects.some((project) => project.slug === slug));
  if (missing.length > 0) throw new CommandError(`the export has no project ${missing.join(', ')}`);
  const projects = manifest.projects.filter(({ slug }) => slugs.length === 0 || slugs.includes(slug));
  return { ...manifest, projects };
}

try {
  const { place: order, url, projects, verify } = readOrder();
  await runTransfer(url, ({ server, progress }) =>
    withPlace(order, { signal: server.signal, warn: progress.say }, async (place) => {
      const { stored, manifest: all } = await StoredExport.openWhole(place);
      const deps = { server, stored, progress, manifest: chosen(all, projects) };
      if (!verify) {
        await importProjects(deps);
        progress.end(`import into ${server.url} complete`);
        return;
      }
      const differences = await verifyProjects(deps);
      progress.end(`differences: ${differences.length}`);
      for (const difference of differences) process.stdout.write(`${difference}\n`);
      if (differences.length > 0) process.exitCode = 1;
    }),
  );
} catch (error) {
  failStart(error);
}
