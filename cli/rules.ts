/** Prints what strangers and users may do with a server's records, and warnings, for CI (docs/security.md). */
import { parseArgs } from 'node:util';
import { commandLine, failStart, helpIfAsked } from '#process/lifecycle/command-line.ts';
import { everybodyMay, type Reach } from '#query/login/rule-words.ts';
import type { RulesSummary } from '#query/login/space-rules.ts';
import { type Family, families } from '#records/structure/space-auth.ts';
import type { RemoteServer } from './transfer/remote-server.ts';
import { runTransfer, usualUrl } from './transfer/run-transfer.ts';

helpIfAsked(`
Says for each record space with rules what a stranger and a user who has logged in may do with which records.

  ${commandLine('rules', '--check [--url URL] [--project SLUG] [--open SPACE:OPERATION ...]')}

  --check            ends with status 1 where rules warn of something
  --url URL          of the server; without it SLUICE_URL, or http://127.0.0.1:8080
  --project SLUG     only this project; the others are looked at, too, without it
  --open posts:find  warns of other spaces that are open to everybody, but not of this one

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

async function check(server: RemoteServer, values: ReturnType<typeof readOrder>): Promise<void> {
  const projects =
    values.project === undefined ? await slugs(server, '/_projects_', 'projects') : [values.project];
  let spaces = 0;
  let warnings = 0;
  for (const project of projects) {
    const of = `/_projects_/${encodeURIComponent(project)}/spaces`;
    for (const slug of await slugs(server, of, 'spaces')) {
      const found = await server.json<RulesSummary>(`${of}/${encodeURIComponent(slug)}/rules`);
      if (found.rules === null) continue;
      spaces++;
      const meant = families.filter((name) => values.open.includes(`${slug}:${name}`)).map(everybodyMay);
      const left = found.warnings.filter((text) => !meant.includes(text));
      warnings += left.length;
      process.stdout.write(
        `${[`${project}/${slug}`, ...lines(found), ...left.map((text) => `  ! ${text}`)].join('\n')}\n`,
      );
    }
  }
  process.stdout.write(`${spaces} record spaces with rules, ${warnings} warnings\n`);
  if (values.check && warnings > 0) process.exitCode = 1;
}

function lines({ stranger, user }: RulesSummary): string[] {
  return families.map((name) => `  ${name}: a stranger ${said(stranger[name])}; a user ${said(user[name])}`);
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
