/**
 * What `npm pack` makes, installed in an empty folder without optional packages, and so without the embedded engine: its
 * command runs from compiled JavaScript over a served engine.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { call, structureOf } from '../services/record-client.ts';
import { startClickhouse } from '../services/start-clickhouse.ts';
import { acceptanceToken } from '../services/start-sluice.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';

const run = promisify(execFile);
const folder = await temporaryFolder(t);
// the test runner's own settings would reach npm and the server
const { NODE_OPTIONS: _runner, ...clean } = process.env;
const npm = (cwd: string, ...args: string[]) =>
  run('npm', [...args, '--silent', '--no-audit', '--no-fund'], { cwd, env: clean, maxBuffer: 2 ** 26 });
const root = join(import.meta.dirname, '../..');
const { stdout: packed } = await npm(root, 'pack', '--pack-destination', folder);
const tarball = packed.trim().split('\n').at(-1) as string;
await npm(folder, 'install', '--omit=optional', '--prefix', folder, join(folder, tarball));

const engine = await startClickhouse({ user: 'sluice', password: 'hunter2-and-more' });
t.teardown(() => engine.close());
const served = {
  CLICKHOUSE_URL: engine.url,
  CLICKHOUSE_USER: 'sluice',
  CLICKHOUSE_PASSWORD: 'hunter2-and-more',
  DATA_DIR: join(folder, 'data'),
  BOOTSTRAP_TOKEN: acceptanceToken,
  PORT: '0',
};
const sluice = (args: string[], env: Record<string, string>) =>
  spawn('npx', ['--no-install', 'sluice', ...args], {
    cwd: folder,
    env: { ...clean, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // a group of its own, which gets signals as from a terminal: npx alone would not pass them on
    detached: true,
  });
const toEnd = async (args: string[], env: Record<string, string>) => {
  const child = sluice(args, env);
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].on('data', (text: Buffer) => {
      output[name] += text.toString();
    });
  }
  const [status] = (await once(child, 'close')) as [number | null];
  return { status, ...output };
};

t.test('it holds compiled code and types, and neither tests nor TypeScript', async (t) => {
  const installed = join(folder, 'node_modules/sluice');
  t.strictSame((await readdir(installed)).sort(), [
    ...['CHANGELOG.md', 'LICENSE', 'README.md', 'dist', 'docs', 'package.json'],
  ]);
  const files = await readdir(installed, { recursive: true });
  t.strictSame(
    files.filter((file) => /(?<!\.d)\.ts$|^test|^deploy/.test(file)),
    [],
  );
  await t.rejects(stat(join(folder, 'node_modules/@chdb')), { code: 'ENOENT' });
  await t.rejects(stat(join(folder, 'node_modules/@node-rs/argon2-linux-x64-gnu')), { code: 'ENOENT' });
});

t.test('npx serves, its token and janitor commands work beside it', async (t) => {
  const server = sluice([], { ...served, WORKERS: '2' });
  // 'close', and not 'exit': npx may go before the server, which writes to the same place
  let over = false;
  const ended = once(server, 'close').finally(() => {
    over = true;
  });
  const signal = (name: NodeJS.Signals): void => void process.kill(-(server.pid as number), name);
  const killWithUs = (): void => {
    if (!over) signal('SIGKILL');
  };
  process.once('exit', killWithUs);
  t.teardown(killWithUs);
  let output = '';
  server.stderr.on('data', (text: Buffer) => {
    output += text.toString();
  });
  const baseUrl = await new Promise<string>((resolve, reject) => {
    server.stdout.on('data', (text: Buffer) => {
      output += text.toString();
      const url = /^Sluice listens on (\S+)$/m.exec(output)?.[1];
      if (url !== undefined) resolve(url);
    });
    ended.then(([status]) => reject(new Error(`ended with ${status}: ${output}`)));
  });
  t.match(output, /npx --no-install sluice token/, 'the command as it is here');
  const structure = structureOf('packed', 'users', [
    { name: 'email', type: 'TEXT' },
    { name: 'password', type: 'TEXT', hashed: true },
  ]);
  const made = await toEnd(['token', '--name', 'second'], served);
  t.match(made, { status: 0, stdout: /^sluice_\S{51}\n$/ });
  const at = { baseUrl, token: made.stdout.trim(), structure };
  const body = [{ email: 'ada@example.com', password: 'correct horse' }];
  t.equal(
    (await call({ ...at, path: '/packed/users', body })).status,
    200,
    'hashes without optional packages',
  );
  const login = await fetch(`${baseUrl}/packed/function/login`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${at.token}`,
      'function-resources': `{"mustExistSpaceStructures":[${structure}]}`,
    },
    body: JSON.stringify(body[0]),
  });
  t.equal(login.status, 200);
  const mix = join(folder, 'mix.json');
  await writeFile(
    mix,
    JSON.stringify({
      spaces: [{ name: 'people', records: 10, fields: [{ name: 'email', unique: true }] }],
      requests: [{ kind: 'findOne' }],
    }),
  );
  const load = await toEnd(
    ['load', mix, '--target', baseUrl, '--rate', '20', '--seconds', '1', '--cleanup'],
    {
      SLUICE_TOKEN: at.token,
    },
  );
  t.match(load, { status: 0, stdout: /^findOne +20 +0 /m });
  t.match(await toEnd(['janitor', '--dry-run'], served), { status: 0, stdout: /\S/ });
  signal('SIGTERM');
  await ended;
  await t.rejects(fetch(`${baseUrl}/healthz`), 'the server is gone');
});

t.test('load tests can be run from code', async (t) => {
  const program = "import { run } from 'sluice/load'; console.log(typeof run);";
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program], {
    cwd: folder,
    env: clean,
  });
  t.equal(stdout, 'function\n');
  await writeFile(
    join(folder, 'load.mts'),
    [
      "import { run, type RunResult } from 'sluice/load';",
      "const target = { kind: 'sluice', url: '', credential: null, options: {} } as const;",
      "export const rate: Promise<number> = run({ mix: 'records', target }).then((result: RunResult) => result.totals.perSecond);",
      '// @ts-expect-error: a mix is missing',
      'void run({ target });',
    ].join('\n'),
  );
  const compiler = [
    join(root, 'node_modules/typescript/bin/tsc'),
    '--noEmit',
    '--strict',
    '--module',
    'nodenext',
    '--target',
    'es2022',
  ];
  await run(process.execPath, [...compiler, '--skipLibCheck', 'load.mts'], { cwd: folder });
});

t.test('without a ClickHouse server it says what is missing, in one sentence', async (t) => {
  const { status, stderr } = await toEnd([], { DATA_DIR: served.DATA_DIR, PORT: '0' });
  t.equal(status, 1);
  t.match(stderr, /^sluice: the embedded engine is not installed.*CLICKHOUSE_URL.*$/m);
  t.notMatch(stderr, /^ +at /m, 'no stack trace');
});

t.test('help says how the commands are called here', async (t) => {
  t.match(await toEnd(['--help'], {}), { status: 0, stdout: /^ {2}token {7}/m });
  for (const command of [
    'token',
    'janitor',
    'load',
    'quarantine',
    'bucket',
    'rules',
    'export',
    'import',
    'sql-views',
    'move-space',
    'start',
  ]) {
    t.match(await toEnd([command, '--help'], {}), { status: 0, stdout: new RegExp(`sluice ${command}`) });
  }
  t.match(await toEnd(['tokens'], {}), { status: 1, stderr: /^sluice: there is no command "tokens"/m });
});
