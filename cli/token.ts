import { parseArgs } from 'node:util';
import { type ReadLimitsOfToken, readLimitsOf } from '#auth/access-tokens.ts';
import { executeTokenOrder, type TokenOrder } from '#auth/execute-token-order.ts';
import { integer } from '#kernel/config/variable.ts';
import { type Grants, grantNames, readGrants } from '#kernel/grants.ts';
import { commandLine } from '#process/lifecycle/command-line.ts';
import { runCommand } from '#process/lifecycle/run-command.ts';

const help = `
Creates, lists or revokes access tokens, whether the server is running or not. Standard output gets a new token
and nothing else.

  ${commandLine('token', '[--user EMAIL] [--create-user] [--name TEXT] [--expires-in 30d]')}
  ${commandLine('token', '[--project SLUG] [--space SLUG] [--may find,insert] ...')}
  ${commandLine('token', '[--publishable --origin https://app.example.com] ...')}
  ${commandLine('token', '[--read-max-rows N] [--read-timeout-ms N] ...')}
  ${commandLine('token', '--list [--user EMAIL]')}
  ${commandLine('token', '--revoke TOKEN_ID')}

  --user EMAIL       the account; without it, the one that the first start created
  --create-user      creates the account if there is none
  --name TEXT        a name for the list
  --expires-in 30d   a number and s, m, h or d; without it, the token does not expire
  --project SLUG, --space SLUG, --may GRANT
                     what the token is for, each one or several with commas; without them, everything. GRANT is one
                     of ${grantNames.join(', ')}
  --publishable --origin URL
                     a token for web pages of this origin (several with commas): it reaches records and files that have
                     rules, and nothing else (docs/security.md)
  --read-max-rows N, --read-timeout-ms N
                     what a read with the token may take, in place of READ_MAX_ROWS and READ_TIMEOUT_MS
  --list             lists the account's tokens, with their ids
  --revoke TOKEN_ID  revokes a token, by its id or by the token itself

The server and its database are looked for in DATA_DIR (./data), or at CLICKHOUSE_URL.
`;

const units = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

function readOrder(): TokenOrder {
  const { values } = parseArgs({
    options: {
      user: { type: 'string' },
      'create-user': { type: 'boolean', default: false },
      name: { type: 'string', default: 'created by npm run token' },
      'expires-in': { type: 'string' },
      project: { type: 'string' },
      space: { type: 'string' },
      may: { type: 'string' },
      publishable: { type: 'boolean', default: false },
      origin: { type: 'string' },
      'read-max-rows': { type: 'string' },
      'read-timeout-ms': { type: 'string' },
      list: { type: 'boolean', default: false },
      revoke: { type: 'string' },
    },
  });
  if (values.revoke !== undefined) return { action: 'revoke', token: values.revoke };
  const { user: email = null } = values;
  if (email !== null && !/^[^\s@]{1,64}@[^\s@]{1,190}$/.test(email)) {
    throw new Error(`--user is ${JSON.stringify(email)}: it should be an e-mail address`);
  }
  if (values.list) return { action: 'list', email };
  return {
    action: 'create',
    email,
    createUser: values['create-user'],
    name: values.name,
    expiresIn: readDuration(values['expires-in']),
    limits: readLimits(values['read-max-rows'], values['read-timeout-ms']),
    grants: readGrantOptions(values),
  };
}

function readGrantOptions(
  values: {
    readonly [Name in 'project' | 'space' | 'may' | 'origin']?: string | undefined;
  } & { readonly publishable: boolean },
): Grants | undefined {
  const problems: string[] = [];
  const [projects, spaces, may, origins] = [values.project, values.space, values.may, values.origin].map(
    (text) => text?.split(','),
  );
  const grants = readGrants({ projects, spaces, may, publishable: values.publishable, origins }, problems);
  if (problems.length > 0) throw new Error(problems.join('; '));
  return grants;
}

function readLimits(rows: string | undefined, time: string | undefined): ReadLimitsOfToken | undefined {
  const problems: string[] = [];
  const maxRows = integer('--read-max-rows', undefined, [0, 1e15]).read(rows, problems);
  const timeout = integer('--read-timeout-ms', undefined, [100, 3_600_000]).read(time, problems);
  if (problems.length > 0) throw new Error(problems.join('; '));
  return readLimitsOf(maxRows ?? null, timeout ?? null);
}

function readDuration(text: string | undefined): number | null {
  if (text === undefined) return null;
  const match = /^(\d{1,6})([smhd])$/.exec(text);
  if (match === null) {
    throw new Error(
      `--expires-in is ${JSON.stringify(text)}: it should be a number and s, m, h or d, such as 30d`,
    );
  }
  return Number(match[1]) * units[match[2] as keyof typeof units];
}

await runCommand({
  name: 'token',
  help,
  readOrder,
  offline: executeTokenOrder,
});
