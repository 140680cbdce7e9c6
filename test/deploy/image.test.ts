/**
 * What the Dockerfile makes, built without an engine by deploy/check-image.sh, and run as the image runs it: as nobody, on
 * files that nobody may write, with the image's variables, over a served engine and an S3 server.
 */
import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, chown, mkdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import sharp from 'sharp';
import t from 'tap';
import { freePorts } from '../services/free-port.ts';
import { call, structureOf } from '../services/record-client.ts';
import { startS3Stub } from '../services/s3-stub/start-s3-stub.ts';
import { stubSettings } from '../services/s3-stub/stub-settings.ts';
import { startClickhouse } from '../services/start-clickhouse.ts';
import { acceptanceToken } from '../services/start-sluice.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';
import { watchChild } from '../services/watch-child.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const folder = await temporaryFolder(t);
await chmod(folder, 0o755);
const { stdout: listing } = await run(join(root, 'deploy/check-image.sh'), [join(folder, 'image')], {
  env: { ...process.env, NODE_OPTIONS: '' },
});
const app = join(folder, 'image', 'app');
const stub = await startS3Stub();
const engine = await startClickhouse({ user: 'sluice', password: 'hunter2-and-more' });
const dockerfile = await readFile(join(root, 'Dockerfile'), 'utf8');
const ofTheImage = Object.fromEntries(
  (/^ENV (.*)$/m.exec(dockerfile)?.[1] ?? '').split(' ').map((pair) => pair.split('=') as [string, string]),
);
const nobody = 65532;
const isRoot = process.getuid?.() === 0;

/** Only root can become somebody else; without it the files are still nobody's to write. */
function asNobody(args: readonly string[], env: Record<string, string>): [string, string[], object] {
  const options = { cwd: app, env: { PATH: process.env.PATH ?? '', ...env } };
  const command = ['node', ...args];
  if (!isRoot) return [command[0] as string, command.slice(1), options];
  const drop = [
    `--reuid=${nobody}`,
    `--regid=${nobody}`,
    '--clear-groups',
    '--no-new-privs',
    '--bounding-set=-all',
  ];
  return ['setpriv', [...drop, ...command], options];
}

const port = await freePorts(2);
const start = async (script: string, ownPort: number, more: Record<string, string>) => {
  const dataDir = join(folder, `run-${ownPort}`);
  await mkdir(dataDir, { mode: 0o700 });
  if (isRoot) await chown(dataDir, nobody, nobody);
  const env = {
    ...ofTheImage,
    ...more,
    HOST: '127.0.0.1',
    PORT: `${ownPort}`,
    DATA_DIR: dataDir,
    BOOTSTRAP_TOKEN: acceptanceToken,
    CLICKHOUSE_URL: engine.url,
    CLICKHOUSE_USER: 'sluice',
    CLICKHOUSE_PASSWORD: 'hunter2-and-more',
  };
  const [command, args, options] = asNobody([script], env);
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  const { end, untilWritten } = watchChild(child, script);
  await untilWritten(/^Sluice listens on/m);
  return { env, pid: child.pid, stop: () => end('SIGTERM') };
};
const gateway = await start('gateway/main.js', port, { ...stubSettings(stub), IMAGE_PRESETS: 'thumb=30x30' });
const query = await start('query/main.js', port + 1, {});
t.teardown(async () => {
  await gateway.stop();
  await query.stop();
  await engine.close();
  await stub.close();
});

t.test('it holds what it runs, and not what it does not', async (t) => {
  t.comment(listing);
  for (const absent of ['chdb', '@chdb', 'tsx', 'esbuild', '@esbuild', 'typescript', 'tap', '.bin']) {
    await t.rejects(stat(join(app, 'node_modules', absent)), { code: 'ENOENT' }, absent);
  }
  for (const absent of ['test', 'bench', 'docs', '.git', 'main.ts', 'docker-compose.yml']) {
    await t.rejects(stat(join(app, absent)), { code: 'ENOENT' }, absent);
  }
  const native = listing.slice(listing.indexOf('native code:')).match(/\S+\.node/g) ?? [];
  t.equal(native.length, 3, native.join(' '));
  t.match(native.join(' '), `sharp-${process.platform}-${process.arch}`);
  t.match(native.join(' '), `uws_${process.platform}_${process.arch}_${process.versions.modules}.node`);
});

t.test('every version in it is the one of the lock file', async (t) => {
  const { packages } = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version: string }>;
  };
  const { stdout } = await run(
    'find',
    [...['node_modules', '-mindepth', '2', '-maxdepth', '3', '-type', 'f', '-name', 'package.json']],
    { cwd: app },
  );
  let compared = 0;
  for (const path of stdout.trim().split('\n')) {
    const locked = packages[path.replace('/package.json', '')];
    if (locked === undefined) continue;
    const { version } = JSON.parse(await readFile(join(app, path), 'utf8')) as { version: string };
    t.equal(version, locked.version, path);
    compared++;
  }
  t.ok(compared > 20);
});

t.test('an upload and a download', async (t) => {
  const content = randomBytes(9_000_000);
  const form = new FormData();
  form.set('file', new Blob([content]), 'from the image.bin');
  const headers = { authorization: `Bearer ${acceptanceToken}` };
  const stored = await fetch(`http://127.0.0.1:${port}/_f_/media/upload`, {
    method: 'POST',
    headers,
    body: form,
  });
  t.equal(stored.status, 200);
  const { name } = (await stored.json()) as { name: string };
  const read = await fetch(`http://127.0.0.1:${port}/_f_/media/${encodeURIComponent(name)}`, { headers });
  t.ok(Buffer.from(await read.arrayBuffer()).equals(content));
});

t.test('load tests: a mix that ships, and one that does not', async (t) => {
  const load = async (mix: string): Promise<string> => {
    const [command, args, options] = asNobody(
      ['cli/load.js', mix, '--target', `http://127.0.0.1:${port}`],
      {},
    );
    const child = spawn(command, args, { ...options, stdio: ['ignore', 'ignore', 'pipe'] });
    return text(child.stderr);
  };
  t.match(await load('records'), /needs an access token/);
  t.match(await load('nothing'), /no mix of this name ships: they are httparena,/);
});

t.test('a picture by preset', async (t) => {
  const png = sharp({ create: { width: 90, height: 60, channels: 3, background: 'red' } }).png();
  const headers = { authorization: `Bearer ${acceptanceToken}` };
  const sent = { method: 'PUT', headers, body: new Blob([await png.toBuffer()]) };
  const stored = await fetch(`http://127.0.0.1:${port}/_f_/media/a.png`, sent);
  const { name } = (await stored.json()) as { name: string };
  const url = `http://127.0.0.1:${port}/_f_/media/${name}?preset=thumb`;
  const made = await fetch(url, { headers: { ...headers, accept: 'image/webp' } });
  t.strictSame([made.status, made.headers.get('content-type')], [200, 'image/webp']);
  t.match(await sharp(Buffer.from(await made.arrayBuffer())).metadata(), { width: 30, height: 20 });
});

t.test('an insert with a hashed field and a find', async (t) => {
  const structure = structureOf('media', 'users', [
    { name: 'email', type: 'TEXT' },
    { name: 'password', type: 'TEXT', hashed: true },
  ]);
  const at = { baseUrl: `http://127.0.0.1:${port + 1}`, token: acceptanceToken, structure };
  const body = [{ email: 'ada@example.com', password: 'correct horse' }];
  t.equal((await call({ ...at, path: '/media/users', body })).status, 200);
  const found = await call({ ...at, path: '/media/users?email=ada@example.com' });
  t.match(found.body, [{ email: 'ada@example.com' }]);
});

t.test('it makes the keys of the compose file, as nobody, in a folder of its own', async (t) => {
  const keys = join(folder, 'keys');
  await mkdir(keys);
  if (isRoot) await chown(keys, nobody, nobody);
  const [command, args, options] = asNobody(['deploy/compose/init/make-keys.js'], {
    KEYS_DIR: keys,
    SLUICE_HOST: 'files.example.com',
  });
  t.match(await run(command, args, options), { stdout: 'keys and certificate made\n' });
  t.match(await run(command, args, options), { stdout: 'keys and certificate are there\n' });
  t.match(
    await readFile(join(keys, 'tls', 'sluice.pem'), 'utf8'),
    /PRIVATE KEY-----\n-----BEGIN CERTIFICATE/,
  );
});

t.test(
  'it runs as nobody, and its files are not its own',
  { skip: isRoot ? false : 'needs root' },
  async (t) => {
    for (const { pid } of [gateway, query]) {
      const status = await readFile(`/proc/${pid}/status`, 'utf8');
      t.match(status, new RegExp(`^Uid:\\s+${nobody}\\s+${nobody}`, 'm'));
      t.match(status, /^CapEff:\s+0+$/m);
    }
    const [command, args, options] = asNobody(
      ['-e', 'require("node:fs").writeFileSync("common/new.js", "")'],
      {},
    );
    await t.rejects(run(command, args, options), /EACCES/);
  },
);

t.test('its commands work beside it, and its health check tells', async (t) => {
  const health = (env: Record<string, string>) => {
    const [command, args, options] = asNobody(['cli/healthcheck.js'], env);
    return run(command, args, options);
  };
  await t.resolves(health(gateway.env));
  const [command, args, options] = asNobody(['cli/token.js', '--name', 'second'], query.env);
  const { stdout } = await run(command, args, options);
  t.match(stdout, /^\S{40,}\n$/);
  t.equal(await gateway.stop(), 0);
  await t.rejects(health(gateway.env), { code: 1, stderr: /does not answer/ });
});
