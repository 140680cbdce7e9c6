/** Exports projects of a running server into a folder or a bucket (docs/operations.md#backup-and-restore). */
import { parseArgs } from 'node:util';
import { commandLine, failStart, helpIfAsked } from '#process/lifecycle/command-line.ts';
import { exportProjects } from './transfer/export-projects.ts';
import { type PlaceOrder, readPlace, withPlace } from './transfer/open-place.ts';
import { runTransfer, usualUrl } from './transfer/run-transfer.ts';
import { StoredExport } from './transfer/stored-export.ts';

helpIfAsked(`
Fetches record spaces, with structures, rules and records, and files of a running server into a folder or a bucket of
S3, from which the command import makes them again.

  ${commandLine('export', 'FOLDER [--url URL] [--project SLUG ...] [--again]')}
  ${commandLine('export', '--to s3://BUCKET/PREFIX [--url URL] [--project SLUG ...] [--again]')}

  --to ADDRESS    streams into a bucket, with the variables S3_ENDPOINT, S3_REGION, S3_ACCESS_KEY_ID,
                  S3_SECRET_ACCESS_KEY and S3_FORCE_PATH_STYLE, as of the server
  --url URL       of the server; without it SLUICE_URL, or http://127.0.0.1:8080
  --project SLUG  only this project, or these; all of the account without it
  --again         begins anew, and removes what the folder or the bucket has there of an earlier export

The access token is read from SLUICE_TOKEN. It needs the grants structure, find, files:read and backup. An export that was
cut goes on when the command is run again. An export has hashes of passwords: keep it as secret as the server's data.
`);

function readOrder(): { place: PlaceOrder; url: string; projects: string[]; again: boolean } {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      to: { type: 'string' },
      url: { type: 'string', default: usualUrl() },
      project: { type: 'string', multiple: true, default: [] },
      again: { type: 'boolean', default: false },
    },
  });
  const place = readPlace(positionals, { name: '--to', value: values.to });
  return { place, url: values.url, projects: values.project, again: values.again };
}

try {
  const { place: order, url, projects, again } = readOrder();
  await runTransfer(url, ({ server, progress }) =>
    withPlace(order, { signal: server.signal, warn: progress.say }, async (place) => {
      const stored = await StoredExport.begin(place, server.url, { again });
      const exported = await exportProjects({ server, stored, progress }, projects);
      await stored.finish(exported);
      progress.end(`export to ${place.name} complete`);
    }),
  );
} catch (error) {
  failStart(error);
}
