import { execFile, spawn } from 'node:child_process';
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { freePorts } from '../services/free-port.ts';
import { connectRaw } from '../services/raw-http.ts';
import { call, fieldsOf, structureOf } from '../services/record-client.ts';
import {
  acceptanceToken,
  removeData,
  runToEnd,
  type Sluice,
  sluiceFor,
  startSluice,
} from '../services/start-sluice.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';
import { watchChild } from '../services/watch-child.ts';

const run = promisify(execFile);
const nobody = 65532;
const structure = structureOf('life', 'things', fieldsOf('n NUMBER'));

const insert = (sluice: Sluice, n: number) =>
  call({
    ...sluice,
    path: '/life/things/_single_',
    structure,
    body: { n },
  });
const find = (sluice: Sluice) => call({ ...sluice, path: '/life/things', structure });
async function upload(sluice: Sluice, content: string): Promise<{ status: number; s3Link: string }> {
  const body = new FormData();
  body.set('file', new Blob([content]), 'a.txt');
  const response = await fetch(`${sluice.baseUrl}/_f_/life/upload`, {
    method: 'POST',
    headers: { authorization: `Bearer ${sluice.token}` },
    body,
  });
  return { status: response.status, ...((await response.json()) as { s3Link: string }) };
}

t.test('the first start prints a token and three commands that work as printed', async (t) => {
  const sluice = await startSluice();
  t.teardown(() => removeData(sluice));
  const printed = sluice.stdout();
  t.match(printed, sluice.baseUrl);
  t.notMatch(printed, sluice.token, 'a configured token is a secret');
  const commands = printed.split('\n').filter((line) => line.startsWith('curl '));
  t.equal(commands.length, 3);
  const answers: unknown[] = [];
  for (const command of commands) {
    const { stdout } = await run('sh', ['-c', `${command} -sS --fail-with-body`], {
      cwd: join(import.meta.dirname, '../..'),
      env: { ...process.env, BOOTSTRAP_TOKEN: sluice.token },
    });
    answers.push(JSON.parse(stdout));
  }
  t.match(answers[0], { originalName: 'hello.txt', s3Link: String });
  t.match(answers[1], [{ name: 'Ada' }, { name: 'Grace' }]);
  t.match(answers[2], [{ name: 'Ada', age: 36 }]);
  t.equal(await sluice.stop(), 0);

  const again = await sluice.restart();
  t.notMatch(again.stdout(), /Access token/);
  t.match(again.stdout(), /^Dashboard: +http\S+\/_console_\/$/m, 'every start says where the dashboard is');
  await again.stop();
});

t.test('a token that was made up is printed once, and works as printed', async (t) => {
  const sluice = await startSluice({ env: { BOOTSTRAP_TOKEN: '' } });
  t.teardown(() => removeData(sluice));
  const token = /^Access token: (\S+)$/m.exec(sluice.stdout())?.[1] as string;
  const command = sluice
    .stdout()
    .split('\n')
    .find((line) => line.startsWith('curl ')) as string;
  t.match(command, token);
  const { stdout } = await run('sh', ['-c', `${command} -sS --fail-with-body`], {
    cwd: join(import.meta.dirname, '../..'),
  });
  t.match(JSON.parse(stdout), { originalName: 'hello.txt' });
  t.match(sluice.stderr(), 'making a database in', 'the first start was silent until it was over');
  t.equal(await sluice.stop(), 0);
  const again = await sluice.restart();
  t.notMatch(again.stderr(), 'making a database in');
  t.notMatch(again.stdout(), token);
  await again.stop();
});

t.test('a configured token is good from the first moment at which anything listens', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'sluice-first-'));
  const port = await freePorts(1);
  const starting = startSluice({ dataDir, env: { PORT: String(port) } });
  t.teardown(async () => {
    await (await starting).stop();
    await rm(dataDir, { recursive: true, force: true });
  });
  const statuses = new Set<number>();
  let started = false;
  const isUp = starting.finally(() => {
    started = true;
  });
  const baseUrl = `http://127.0.0.1:${port}`;
  while (!started) {
    try {
      const answer = await call({ baseUrl, token: acceptanceToken, path: '/life/things', structure });
      statuses.add(answer.status);
    } catch {
      // nothing listens yet
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }
  await isUp;
  t.equal((await find(await starting)).status, 200);
  t.notOk(statuses.has(401), [...statuses].join());
});

t.test('a service alone shows what it serves, and no more', async (t) => {
  const scripts = ['gateway/main.ts', 'query/main.ts'] as const;
  const alone = scripts.map((script) => startSluice({ script }));
  const [gateway, query] = (await Promise.all(alone)) as [Sluice, Sluice];
  t.teardown(() => Promise.all([removeData(gateway), removeData(query)]));
  t.match(gateway.stdout(), /Upload a file:/);
  t.notMatch(gateway.stdout(), /records:/);
  t.match(query.stdout(), /Insert records:.*Find records:/s);
  t.notMatch(query.stdout(), /Upload/);
  for (const sluice of [gateway, query]) t.equal(await sluice.stop(), 0);
});

t.test('a restart keeps everything', async (t) => {
  const sluice = await startSluice();
  t.teardown(() => removeData(sluice));
  t.equal((await insert(sluice, 1)).status, 200);
  const { s3Link } = await upload(sluice, 'kept');
  const before = await find(sluice);
  t.equal(await sluice.stop(), 0);
  const again = await sluice.restart();
  t.strictSame((await find(again)).body, before.body);
  t.equal((await insert(again, 2)).status, 200);
  t.equal((await find(again)).body.length, 2);
  const { pathname } = new URL(s3Link);
  t.equal(await (await fetch(again.baseUrl + pathname)).text(), 'kept');
  t.equal(await again.stop(), 0);
});

t.test('kill -9 during inserts and uploads loses nothing acknowledged', async (t) => {
  let sluice = await sluiceFor(t);
  const records = new Set<number>();
  const attempted = new Set<number>();
  const files = new Map<string, string>();
  let n = 0;
  for (let round = 0; round < 4; round++) {
    let running = true;
    const current = sluice;
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      while (running) {
        const mine = n++;
        attempted.add(mine);
        try {
          if (writer < 5) {
            if ((await insert(current, mine)).status === 200) records.add(mine);
          } else {
            const { status, s3Link } = await upload(current, `content ${mine}`);
            if (status === 200) files.set(new URL(s3Link).pathname, `content ${mine}`);
          }
        } catch {
          // the server is being killed
          return;
        }
      }
    });
    // in the middle of work, however fast this machine is
    const before = { records: records.size, files: files.size };
    while (records.size < before.records + 20 || files.size < before.files + 8) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await current.kill();
    running = false;
    await Promise.all(writers);
    sluice = await current.restart();
  }
  const found = (await find(sluice)).body.map((record: { n: number }) => record.n) as number[];
  t.equal(new Set(found).size, found.length, 'no record is there twice');
  for (const record of records) t.ok(found.includes(record), `record ${record}`);
  for (const record of found) t.ok(attempted.has(record));
  for (const [path, content] of files) t.equal(await (await fetch(sluice.baseUrl + path)).text(), content);
  t.ok(records.size > 20 && files.size > 20, `${records.size} records, ${files.size} files`);
});

t.test('SIGTERM lets a running upload finish, refuses new ones, and exits 0', async (t) => {
  const sluice = await startSluice();
  t.teardown(() => removeData(sluice));
  const head = '--b\r\nContent-Disposition: form-data; name="file"; filename="slow.txt"\r\n\r\n';
  const tail = '\r\n--b--\r\n';
  const raw = connectRaw(sluice.baseUrl);
  raw.send(
    `POST /_f_/life/upload HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${sluice.token}\r\n` +
      `Content-Type: multipart/form-data; boundary=b\r\nContent-Length: ${head.length + 10 + tail.length}\r\n\r\n${head}01234`,
  );
  await new Promise((resolve) => setTimeout(resolve, 300));
  sluice.process.kill('SIGTERM');
  await new Promise((resolve) => setTimeout(resolve, 300));
  await t.rejects(fetch(`${sluice.baseUrl}/healthz`), 'no new connection is accepted');
  raw.send(`56789${tail}`);
  t.match(await raw.until(/\}\r?\n?$/), /^HTTP\/1.1 200 /);
  t.equal(await sluice.ended(), 0);
});

t.test('an upload past the drain deadline gets 503 and leaves nothing', async (t) => {
  const sluice = await startSluice({ env: { DRAIN_TIMEOUT_MS: '300' } });
  t.teardown(() => removeData(sluice));
  const raw = connectRaw(sluice.baseUrl);
  raw.send(
    `POST /_f_/life/upload HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${sluice.token}\r\n` +
      'Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 100000\r\n\r\n' +
      '--b\r\nContent-Disposition: form-data; name="file"; filename="never.txt"\r\n\r\n0123',
  );
  await new Promise((resolve) => setTimeout(resolve, 300));
  sluice.process.kill('SIGINT');
  t.match(await raw.until(/\}\r?\n?$/), /^HTTP\/1.1 503 .*shutting_down/s);
  t.equal(await sluice.ended(), 0);
  const { stdout } = await run('find', [join(sluice.dataDir, 'files'), '-type', 'f']);
  t.equal(stdout, '');
});

t.test('a stop says what it waits for, and a second signal ends it at once', async (t) => {
  const sluice = await startSluice({ env: { LOG_LEVEL: 'info', DRAIN_TIMEOUT_MS: '60000' } });
  t.teardown(() => removeData(sluice));
  const raw = connectRaw(sluice.baseUrl);
  raw.send(
    `POST /_f_/life/upload HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${sluice.token}\r\n` +
      'Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 100000\r\n\r\n--b\r\n',
  );
  await new Promise((resolve) => setTimeout(resolve, 300));
  sluice.process.kill('SIGINT');
  await new Promise((resolve) => setTimeout(resolve, 500));
  sluice.process.kill('SIGINT');
  t.equal(await sluice.ended(), 1);
  t.match(sluice.stderr(), /stopping: waits for 1 request, 60 s at most; a second signal ends it at once/);
});

t.test('npm start passes a SIGTERM on, and ends when the server has', async (t) => {
  const dataDir = await temporaryFolder(t);
  const child = spawn('npm', ['start'], {
    cwd: join(import.meta.dirname, '../..'),
    env: { ...process.env, PORT: '0', DATA_DIR: dataDir, BOOTSTRAP_TOKEN: acceptanceToken },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const { end, untilWritten } = watchChild(child, 'npm start');
  const [, url] = await untilWritten(/^Sluice listens on (\S+)$/m);
  t.equal((await fetch(`${url}/healthz`)).status, 200);
  t.equal(await end('SIGTERM'), 0);
  await t.rejects(fetch(`${url}/healthz`), 'the server is gone');
});

t.test('starts that can not succeed say why in one sentence, and exit 1', async (t) => {
  const sluice = await sluiceFor(t);
  const folder = await temporaryFolder(t);
  const file = join(folder, 'file');
  await writeFile(file, '');
  const port = new URL(sluice.baseUrl).port;
  const cases: [string, Record<string, string>, RegExp][] = [
    [
      'a port in use',
      { PORT: port, DATA_DIR: join(folder, 'a') },
      new RegExp(`127.0.0.1:${port} can't be listened on: another program listens there`),
    ],
    [
      'a data directory in use',
      { PORT: '0', DATA_DIR: sluice.dataDir },
      /data directory .* is in use by another process, .* set CLICKHOUSE_URL for both/,
    ],
    [
      'an address of another machine',
      { PORT: '0', HOST: '192.0.2.1', DATA_DIR: join(folder, 'a') },
      /192\.0\.2\.1:0 can't be listened on: it is not an address of this machine/,
    ],
    [
      'a data directory that is a file',
      { PORT: '0', DATA_DIR: file },
      /DATA_DIR \S+ can't be created \(a file is in its place\): set it/,
    ],
    [
      'one below a file',
      { PORT: '0', DATA_DIR: join(file, 'data') },
      /can't be created \(a file is in its place\)/,
    ],
    [
      'a data directory that can not exist',
      { PORT: '0', DATA_DIR: '/proc/none/data' },
      /DATA_DIR \/proc\/none\/data can't be created \(ENOENT\)/,
    ],
    ['bad values', { PORT: 'x', MAX_UPLOAD_BYTES: '-1' }, /PORT is "x".*MAX_UPLOAD_BYTES is "-1"/],
    ['half of TLS', { PORT: '0', TLS_CERT_FILE: file }, /TLS_CERT_FILE and TLS_KEY_FILE/],
    ['workers on the embedded engine', { PORT: '0', WORKERS: '2' }, /WORKERS is 2, but CLICKHOUSE_URL/],
  ];
  for (const [name, env, expected] of cases) {
    const { status, stdout, stderr } = await runToEnd('main.ts', [], { DATA_DIR: folder, ...env });
    t.equal(status, 1, name);
    t.match(stderr, expected, name);
    t.equal(stderr.split('\n').filter((line) => line.startsWith('sluice: ')).length, 1, stderr);
    t.notMatch(stderr, /^\s+at /m, 'no stack trace');
    t.notMatch(stdout, /listens/);
  }
});

t.test(
  'a user without rights gets a clear error',
  { skip: process.getuid?.() === 0 ? false : 'needs root' },
  async (t) => {
    const folder = await temporaryFolder(t);
    await chmod(folder, 0o755);
    const closed = join(folder, 'closed');
    await mkdir(closed, { mode: 0o755 });
    const mine = join(folder, 'mine');
    await mkdir(mine);
    await chown(mine, nobody, nobody);
    const drop = `--reuid=${nobody} --regid=${nobody} --clear-groups --bounding-set=-all --inh-caps=-all`;
    const asNobody = async (script: string, env: Record<string, string>) => {
      const command = `${process.execPath} --import tsx ${script}`;
      const failed = await run('setpriv', [...drop.split(' '), ...command.split(' ')], {
        cwd: join(import.meta.dirname, '../..'),
        env: { PATH: process.env.PATH ?? '', HOME: mine, ...env },
      }).catch((error: { code: number; stderr: string }) => error);
      return failed as { code?: number; stderr: string };
    };
    const written = /^sluice: DATA_DIR \S+ can't be read and written by user 65532 \(EACCES\): set it/m;
    t.match(await asNobody('main.ts', { PORT: '0', DATA_DIR: closed }), { code: 1, stderr: written });
    const created = /^sluice: DATA_DIR \S+ can't be created \(EACCES\): set it/m;
    t.match(await asNobody('main.ts', { PORT: '0', DATA_DIR: join(closed, 'data') }), {
      code: 1,
      stderr: created,
    });
    const low = /^sluice: 127\.0\.0\.1:81 can't be listened on: this user may not .* below 1024/m;
    t.match(await asNobody('main.ts', { PORT: '81', DATA_DIR: mine }), { code: 1, stderr: low });

    const sluice = await startSluice();
    t.teardown(() => removeData(sluice));
    const { dataDir } = sluice;
    const other = /^sluice: (DATA_DIR \S+ belongs to another user|there is no database)/m;
    for (const script of ['cli/token.ts', 'cli/janitor.ts']) {
      t.match(await asNobody(script, { DATA_DIR: dataDir }), { code: 1, stderr: other });
    }
    await sluice.stop();
  },
);

t.test('commands say how they are used', async (t) => {
  const scripts = [
    'main.ts',
    'gateway/main.ts',
    'query/main.ts',
    'cli/token.ts',
    'cli/janitor.ts',
    'cli/bucket.ts',
    'cli/sql-views.ts',
  ];
  // of a checkout, or compiled
  const usage = /npm run -s|node \S+\.js/;
  for (const script of scripts) {
    t.match(await runToEnd(script, ['--help'], {}), { status: 0, stderr: '', stdout: usage }, script);
  }
  const move = await runToEnd('cli/move-space.ts', ['--help'], {});
  t.match(move, { status: 0, stderr: '', stdout: /(?:sluice -- move-space|cli\/move-space\.js) PROJECT/ });
  t.match(await runToEnd('cli/rules.ts', ['--help'], {}), {
    status: 0,
    stdout: /(?:npm run -s sluice -- rules|cli\/rules\.js) --check/,
  });
});

t.test('a command in the wrong place says where it looked, and makes nothing', async (t) => {
  const folder = await temporaryFolder(t);
  const missing = join(folder, 'missing');
  for (const script of ['cli/token.ts', 'cli/janitor.ts', 'cli/sql-views.ts']) {
    for (const DATA_DIR of [folder, missing]) {
      const { status, stderr, stdout } = await runToEnd(script, [], { DATA_DIR });
      t.match({ status, stdout }, { status: 1, stdout: '' });
      t.match(stderr, `sluice: there is no database in ${DATA_DIR}: set DATA_DIR`);
    }
  }
  t.strictSame(await readdir(folder), []);
});

t.test('a server for other machines prints an address that works, and what it needs', async (t) => {
  const sluice = await sluiceFor(t, { script: 'gateway/main.ts', env: { HOST: '0.0.0.0' } });
  t.match(sluice.baseUrl, /^http:\/\/127\.0\.0\.1:\d+$/);
  t.equal((await fetch(`${sluice.baseUrl}/healthz`)).status, 200);
  const outside = Object.values(networkInterfaces())
    .flatMap((found) => found ?? [])
    .find(({ internal, family }) => !internal && family === 'IPv4');
  if (outside !== undefined) {
    const url = `http://${outside.address}:${new URL(sluice.baseUrl).port}`;
    t.match(sluice.stdout(), `on the network: ${url}\n`);
    t.equal((await fetch(`${url}/healthz`)).status, 200, 'it listens there');
  }
  t.match(sluice.stdout(), /Plain HTTP from other machines is refused .* TLS_CERT_FILE .* TRUSTED_PROXIES/);
});

t.test('without a binary of the HTTP server the start says so', async (t) => {
  const folder = await temporaryFolder(t);
  // late enough for the TypeScript loader, whose own binary is there
  const otherMachine = `data:text/javascript,Object.defineProperty(process, 'arch', { value: 'mips' })`;
  const { status, stderr } = await runToEnd('main.ts', [], { DATA_DIR: folder }, [otherMachine]);
  t.equal(status, 1);
  t.match(stderr, /^sluice: uWebSockets.js has no binary that loads on this machine \(.*mips.*\n$/);
});

t.test('npm run token makes and revokes tokens while the server runs', async (t) => {
  const sluice = await sluiceFor(t);
  const token = (...args: string[]) => runToEnd('cli/token.ts', args, { DATA_DIR: sluice.dataDir });
  const status = async (text: string) =>
    (await call({ baseUrl: sluice.baseUrl, token: text, path: '/life/things', structure })).status;

  const made = await token();
  t.equal(made.status, 0, made.stderr);
  t.match(made.stdout, /^sluice_[A-Za-z0-9_-]{51}\n$/, 'the token stands alone on stdout');
  t.equal(await status(made.stdout.trim()), 200);

  const long = await token('--expires-in', '1h');
  t.equal(await status(long.stdout.trim()), 200);
  const short = await token('--expires-in', '1s');
  await new Promise((resolve) => setTimeout(resolve, 1100));
  const expired = await call({
    baseUrl: sluice.baseUrl,
    token: short.stdout.trim(),
    path: '/life/things',
    structure,
  });
  t.match([expired.status, expired.body.message], [401, /expired/]);

  const list = await token('--list');
  t.equal(list.stdout.trim().split('\n').length, 4);
  t.notMatch(list.stdout, made.stdout.trim());
  const id = /^(\S+) {2}created \S+ {2}does not expire {2}created by npm run token$/m.exec(
    list.stdout,
  )?.[1] as string;
  t.match(await token('--revoke', id), { status: 0, stdout: `${id}\n` });
  const revoked = await call({
    baseUrl: sluice.baseUrl,
    token: made.stdout.trim(),
    path: '/life/things',
    structure,
  });
  t.match([revoked.status, revoked.body.message], [401, /revoked/]);
  t.match(await token('--revoke', 'no-such-token'), { status: 1, stderr: /no such access token/ });
  const spare = (await token()).stdout.trim();
  t.equal(await status(spare), 200);
  t.match(await token('--revoke', spare), { status: 0 });
  t.equal(await status(spare), 401);

  t.match(await token('--user', 'nobody@example.com'), { status: 1, stderr: /--create-user/ });
  const other = await token('--user', 'other@example.com', '--create-user');
  t.equal(await status(other.stdout.trim()), 200);
  t.match(await token('--expires-in', 'soon'), { status: 1, stderr: /--expires-in/ });
  const name = (await readdir(sluice.dataDir)).find((name) => name.startsWith('control-')) as string;
  const socket = await readFile(join(sluice.dataDir, name)).catch(
    (error: NodeJS.ErrnoException) => error.code,
  );
  t.equal(socket, 'ENXIO', 'a socket, and not a file with a token in it');
});
