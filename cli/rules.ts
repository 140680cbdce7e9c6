/** Prints what strangers and users may do with a server's records, and warnings, for CI (docs/security.md). */
import { parseArgs } from 'node:util';
import { commandLine, failStart, helpIfAsked } from '#process/lifecycle/command-line.ts';
import { everybodyMayFiles, type FileRulesSummary } from '#query/login/project-file-rules.ts';
import { everybodyMay, type Reach } from '#query/login/rule-words.ts';
import type { RulesSummary } from '#query/login/space-rules.ts';
import { type Family, families } from '#records/structure/space-auth.ts';
import type { RemoteServer } from './transfer/remote-server.ts';
import { runTransfer, usualUrl } from './transfer/run-transfer.ts';

helpIfAsked(`
Says for each record space with rules, and for the files of each project with rules, what a stranger and a user who has
logged in may do with which of them.

  ${commandLine('rules', '--check [--url URL] [--project SLUG] [--open SPACE:OPERATION ...]')}

  --check            ends with status 1 where rules warn of something
  --url URL          of the server; without it SLUICE_URL, or http://127.0.0.1:8080
  --project SLUG     only this project; the others are looked at, too, without it
  --open posts:find  warns of other spaces that are open to everybody, but not of this one; files:read means files

The access token is read from SLUICE_TOKEN. It needs the grant structure.
`);

function readOrder() {
  const { values } = parseArgs({
    options: {
      check: { type: 'boolean', default: false },
      url: { type: 'string', default: usualUrl() },
      project: { type: 'string' },
      open: { type: 'string', multiple: true, default: [] },
    },
  });
  return values;
}

interface Checked {
  spaces: number;
  projects: number;
  warnings: number;
}

async function check(server: RemoteServer, values: ReturnType<typeof readOrder>): Promise<void> {
  const projects =
    values.project === undefined ? await slugs(server, '/_projects_', 'projects') : [values.project];
  const found: Checked = { spaces: 0, projects: 0, warnings: 0 };
  for (const project of projects) {
    const at = `/_projects_/${encodeURIComponent(project)}`;
    for (const slug of await slugs(server, `${at}/spaces`, 'spaces')) {
      const rules = await server.json<RulesSummary>(`${at}/spaces/${encodeURIComponent(slug)}/rules`);
      if (rules.rules === null) continue;
      found.spaces++;
      const meant = families.filter((name) => values.open.includes(`${slug}:${name}`)).map(everybodyMay);
      found.warnings += print(`${project}/${slug}`, families, rules, meant);
    }
    // an earlier version of the server has none
    const ofFiles = await server.find<FileRulesSummary>(`${at}/files/rules`);
    if (ofFiles === null || ofFiles.rules === null) continue;
    found.projects++;
    const operations = Object.keys(ofFiles.stranger) as (keyof FileRulesSummary['stranger'])[];
    const open = operations.filter((name) => values.open.includes(`files:${name}`));
    found.warnings += print(`${project}, files`, operations, ofFiles, open.map(everybodyMayFiles));
  }
  const { spaces, warnings } = found;
  const files = found.projects === 0 ? '' : `, ${counted(found.projects, 'project')} with rules of files`;
  const ofSpaces = `${counted(spaces, 'record space')} with rules`;
  process.stdout.write(`${ofSpaces}${files}, ${counted(warnings, 'warning')}\n`);
  if (values.check && warnings > 0) process.exitCode = 1;
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

/** @param meant warnings that are confirmed @returns the number of the others */
function print<Name extends string>(
  what: string,
  operations: readonly Name[],
  { stranger, user, warnings }: Pick<RulesSummary, 'warnings'> & Record<'stranger' | 'user', Reach<Name>>,
  meant: readonly string[],
): number {
  const left = warnings.filter((text) => !meant.includes(text));
  const lines = operations.map(
    (name) => `  ${name}: a stranger ${said(stranger[name])}; a user ${said(user[name])}`,
  );
  process.stdout.write(`${[what, ...lines, ...left.map((text) => `  ! ${text}`)].join('\n')}\n`);
  return left.length;
}

function said(reach: Reach[Family]): string {
  return typeof reach === 'object' ? `those with ${reach.where}` : reach;
}

async function slugs(server: RemoteServer, path: string, key: 'projects' | 'spaces'): Promise<string[]> {
  const found: string[] = [];
  for await (const { slug } of server.list<{ slug: string }>(`${path}?`, key)) found.push(slug);
  return found;
}

try {
  const order = readOrder();
  await runTransfer(order.url, ({ server }) => check(server, order));
} catch (error) {
  failStart(error);
}
