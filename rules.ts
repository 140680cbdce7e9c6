/** Says what strangers and users may do with the records of a server, and whether that is meant: for CI (docs/security.md). */
import { parseArgs } from 'node:util';
import { failStart, helpIfAsked } from './common/lifecycle/command-line.ts';
import { everybodyMay, type Reach } from './query/login/rule-words.ts';
import type { ShownRules } from './query/login/space-rules.ts';
import { type Family, families } from './query/structure/space-auth.ts';

const timeout = 30_000;

helpIfAsked(`
Says for each record space with rules what a stranger and a user who has logged in may do with which records.

  npx sluice rules --check [--url URL] [--project SLUG] [--open SPACE:OPERATION ...]

  --check            ends with status 1 where rules warn of something
  --url URL          of the server; without it SLUICE_URL, or http://127.0.0.1:8080
  --project SLUG     only this project; the others are looked at, too, without it
  --open posts:find  warns of other spaces that are open to everybody, but not of this one

The access token is read from SLUICE_TOKEN. It needs the grant structure.
`);

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      check: { type: 'boolean', default: false },
      url: { type: 'string', default: process.env.SLUICE_URL ?? 'http://127.0.0.1:8080' },
      project: { type: 'string' },
      open: { type: 'string', multiple: true, default: [] },
    },
  });
  const token = process.env.SLUICE_TOKEN;
  if (token === undefined || token === '')
    throw new Error('SLUICE_TOKEN is missing: it is the access token to ask with');
  const ask = async <Answer>(path: string): Promise<Answer> => {
    const response = await fetch(new URL(path, values.url), {
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(timeout),
    });
    const answer = (await response.json()) as Answer & { readonly message?: string };
    if (!response.ok) throw new Error(`${path}: ${response.status} ${answer.message ?? ''}`);
    return answer;
  };
  const projects =
    values.project === undefined ? await slugs(ask, '/_projects_', 'projects') : [values.project];
  let spaces = 0;
  let warnings = 0;
  for (const project of projects) {
    const of = `/_projects_/${encodeURIComponent(project)}/spaces`;
    for (const slug of await slugs(ask, of, 'spaces')) {
      const found = await ask<ShownRules>(`${of}/${encodeURIComponent(slug)}/rules`);
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

function lines({ stranger, user }: ShownRules): string[] {
  return families.map((name) => `  ${name}: a stranger ${said(stranger[name])}; a user ${said(user[name])}`);
}

function said(reach: Reach[Family]): string {
  return typeof reach === 'object' ? `those with ${reach.where}` : reach;
}

/** All pages of a list. */
async function slugs(
  ask: <Answer>(path: string) => Promise<Answer>,
  path: string,
  key: 'projects' | 'spaces',
): Promise<string[]> {
  const found: string[] = [];
  for (let after: string | null = ''; after !== null; ) {
    const from: string = after === '' ? '' : `&after=${encodeURIComponent(after)}`;
    const page: Readonly<Record<typeof key, readonly { readonly slug: string }[]>> & {
      readonly next: string | null;
    } = await ask(`${path}?limit=100${from}`);
    found.push(...page[key].map(({ slug }) => slug));
    after = page.next;
  }
  return found;
}

try {
  await main();
} catch (error) {
  failStart(error);
}
