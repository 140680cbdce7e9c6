import { parseArgs } from 'node:util';
import { type ReadLimitsOfToken, readLimitsOf } from './common/auth/access-tokens.ts';
import { createTokenCommands, type TokenOrder } from './common/auth/issue-token.ts';
import { type Config, readConfig } from './common/config/read-config.ts';
import { secretsOf } from './common/config/secrets-of.ts';
import { integer } from './common/config/variable.ts';
import { commandLine } from './common/lifecycle/command-line.ts';
import { sendCommand } from './common/lifecycle/control-socket.ts';
import { failStart } from './common/lifecycle/fail-start.ts';
import { helpIfAsked } from './common/lifecycle/help.ts';
import { openServices } from './common/lifecycle/open-services.ts';
import { requireData } from './common/lifecycle/require-data.ts';
import { createLog } from './common/log/log.ts';

const help = `
Creates, lists or revokes access tokens, whether the server is running or not. Standard output gets a new token
and nothing else.

  ${commandLine('token', '[--user EMAIL] [--create-user] [--name TEXT] [--expires-in 30d]')}
  ${commandLine('token', '[--read-max-rows N] [--read-timeout-ms N] ...')}
  ${commandLine('token', '--list [--user EMAIL]')}
  ${commandLine('token', '--revoke TOKEN_ID')}

  --user EMAIL       the account; without it, the one that the first start created
  --create-user      creates the account if there is none
  --name TEXT        a name for the list
  --expires-in 30d   a number and s, m, h or d; without it, the token does not expire
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
  };
}

function readLimits(rows: string | undefined, time: string | undefined): ReadLimitsOfToken | undefined {
  const problems: string[] = [];
  const maxRows = integer('--read-max-rows', undefined, [0, 1e15]).means('').read(rows, problems);
  const timeout = integer('--read-timeout-ms', undefined, [100, 3_600_000]).means('').read(time, problems);
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

async function executeAlone(config: Config, order: TokenOrder): Promise<string> {
  requireData(config);
  // standard output has what was asked for; the rest is for failures
  const log = createLog(config.logLevel === 'info' ? 'warn' : config.logLevel, {
    secrets: secretsOf(config),
  });
  const services = await openServices(config, log);
  try {
    return await createTokenCommands(services).execute(order);
  } finally {
    await services.close();
  }
}

helpIfAsked(help);
try {
  const config = readConfig(process.env);
  const order = readOrder();
  const text =
    (await sendCommand({ dataDir: config.dataDir, command: 'token', order })) ??
    (await executeAlone(config, order));
  process.stdout.write(`${text}\n`);
} catch (error) {
  failStart(error);
}
