/** Generates the client's `space(...)` lines from the record spaces of a server (docs/client.md). */
import { readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { CommandError } from '#kernel/errors/command-error.ts';
import { failStart, helpIfAsked } from '#process/lifecycle/command-line.ts';
import { runTransfer, usualUrl } from './transfer/run-transfer.ts';
import { type ShownField, spaceLines } from './transfer/space-lines.ts';

helpIfAsked(`
Writes the record spaces of a project as lines of TypeScript for sluice-client, with the types of their records.

  npx sluice types --project SLUG [--url URL] [--out FILE] [--check]

  --project SLUG  the project
  --url URL       of the server; without it SLUICE_URL, or http://127.0.0.1:8080
  --out FILE      where the lines go; without it to the output
  --check         writes nothing, and ends with status 1 where FILE says something else: for CI

The access token is read from SLUICE_TOKEN. It needs the grant structure.
`);

function readOrder() {
  const { values } = parseArgs({
    options: {
      project: { type: 'string' },
      url: { type: 'string', default: usualUrl() },
      out: { type: 'string' },
      check: { type: 'boolean', default: false },
    },
  });
  const { project, out, check } = values;
  if (project === undefined) throw new CommandError('--project is missing; see --help');
  if (check && out === undefined) throw new CommandError('--check needs --out, the file to compare');
  return { ...values, project };
}

interface SpaceAnswer {
  readonly structure: { readonly recordStructure: readonly ShownField[] };
}

try {
  const { project, url, out, check } = readOrder();
  await runTransfer(url, async ({ server, progress }) => {
    const path = `/_projects_/${encodeURIComponent(project)}/spaces`;
    const spaces: { slug: string; fields: readonly ShownField[] }[] = [];
    for await (const { slug } of server.list<{ slug: string }>(`${path}?`, 'spaces')) {
      const found = await server.find<SpaceAnswer>(`${path}/${encodeURIComponent(slug)}`);
      // the space was dropped meanwhile
      if (found !== null) spaces.push({ slug, fields: found.structure.recordStructure });
    }
    const text = spaceLines(project, spaces);
    if (out === undefined) process.stdout.write(text);
    else if (check) {
      const before = await readFile(out, 'utf8').catch(() => '');
      if (before !== text)
        throw new CommandError(`${out} does not match the server: run npx sluice types again`);
      progress.end(`${out} matches the server`);
    } else {
      await writeFile(out, text);
      progress.end(`wrote ${spaces.length} record spaces to ${out}`);
    }
  });
} catch (error) {
  failStart(error);
}
