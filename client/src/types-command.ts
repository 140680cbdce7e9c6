/// <reference types="node" />
import { readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { type Client, connect, json, SluiceError, send } from './client.ts';
import { type ShownField, spaceLines } from './space-lines.ts';

/** @param command how the user runs it */
const helpOf = (command: string): string => `
Writes the record spaces of a project as lines of TypeScript for sluice-client, with the types of their records.

  ${command} --project SLUG [--url URL] [--out FILE] [--check]

  --project SLUG  the project
  --url URL       of the server; without it SLUICE_URL, or http://127.0.0.1:8080
  --out FILE      where the lines go; without it to the output
  --check         writes nothing, and ends with status 1 where FILE says something else: for CI

The access token is read from SLUICE_TOKEN. It needs the grant structure.
`;

/** Generates the `space(...)` lines of a server's record spaces (docs/client.md). Exits with status 1 if it fails. */
export async function runTypes(command: string): Promise<void> {
  try {
    await generate(command);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    process.stderr.write(`sluice-types: ${error.message}\n`);
    process.exitCode = 1;
  }
}

async function generate(command: string): Promise<void> {
  const { SLUICE_URL = 'http://127.0.0.1:8080', SLUICE_TOKEN: token } = process.env;
  const { values } = parseArgs({
    options: {
      project: { type: 'string' },
      url: { type: 'string', default: SLUICE_URL },
      out: { type: 'string' },
      check: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const { project, url, out, check, help } = values;
  if (help) {
    process.stdout.write(helpOf(command).trimStart());
    return;
  }
  if (project === undefined) throw new Error('--project is missing; see --help');
  if (check && out === undefined) throw new Error('--check needs --out, the file to compare');
  if (!token) throw new Error('SLUICE_TOKEN is missing: set it to an access token of the server');
  const spaces = await describe(connect({ url, token, project }));
  const text = spaceLines(project, spaces);
  if (out === undefined) process.stdout.write(text);
  else if (!check) {
    await writeFile(out, text);
    process.stderr.write(
      `Wrote ${spaces.length} record ${spaces.length === 1 ? 'space' : 'spaces'} to ${out}\n`,
    );
  } else {
    const before = await readFile(out, 'utf8').catch(() => '');
    if (before !== text) throw new Error(`${out} does not match the server: run ${command} again`);
    process.stderr.write(`${out} matches the server\n`);
  }
}

interface DescribedSpace {
  readonly slug: string;
  readonly fields: readonly ShownField[];
}

/** The record spaces of the client's project, and their fields. */
async function describe(client: Client): Promise<readonly DescribedSpace[]> {
  const path = `/_projects_/${encodeURIComponent(client.project)}/spaces`;
  const get = <Answer>(rest: string): Promise<Answer> =>
    send(client, { method: 'GET', path: path + rest, repeatable: true }, json<Answer>);
  const spaces: DescribedSpace[] = [];
  for (let after: string | null = ''; after !== null; ) {
    const from: string = after && `&after=${encodeURIComponent(after)}`;
    const page: { readonly spaces: readonly { readonly slug: string }[]; readonly next: string | null } =
      await get(`?limit=100${from}`);
    for (const { slug } of page.spaces) {
      const found = await get<{ structure: { recordStructure: readonly ShownField[] } }>(
        `/${encodeURIComponent(slug)}`,
      ).catch((error: unknown) => {
        // the space was dropped meanwhile
        if (error instanceof SluiceError && error.status === 404) return null;
        throw error;
      });
      if (found !== null) spaces.push({ slug, fields: found.structure.recordStructure });
    }
    after = page.next;
  }
  return spaces;
}
