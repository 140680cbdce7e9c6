/** The configurations of docs/reverse-proxies.md, run by the proxies that they are for. */
import { execFile, spawn, spawnSync } from 'node:child_process';
import { createHash, randomFillSync } from 'node:crypto';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { makeCertificate } from '../services/certificate.ts';
import { freePorts } from '../services/free-port.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';
import { sluiceFor } from '../services/start-sluice.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';
import { watchChild } from '../services/watch-child.ts';

const run = promisify(execFile);
const page = await readFile(join(import.meta.dirname, '../../docs/reverse-proxies.md'), 'utf8');
const folder = await temporaryFolder(t);
const { certFile, keyFile } = await makeCertificate(folder);
const bothFile = join(folder, 'both.pem');
await writeFile(bothFile, (await readFile(certFile, 'utf8')) + (await readFile(keyFile, 'utf8')));
const sluice = await sluiceFor(t, { env: { TRUSTED_PROXIES: '127.0.0.1' } });
const upstream = new URL(sluice.baseUrl).host;

interface Proxy {
  /** Language of the block on the page. */
  readonly block: string;
  /** What a test needs besides, and addresses of its own. */
  readonly file: (text: string, port: number) => string;
  readonly command: (path: string) => readonly string[];
}

const proxies: Readonly<Record<string, Proxy>> = {
  nginx: {
    block: 'nginx',
    file: (text, port) => `
      daemon off; worker_processes 1; pid ${folder}/nginx.pid; error_log stderr;
      events {}
      http {
        access_log off; client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy;
        fastcgi_temp_path ${folder}/fastcgi; uwsgi_temp_path ${folder}/uwsgi; scgi_temp_path ${folder}/scgi;
        ${text
          .replace('listen 443 ssl', `listen 127.0.0.1:${port} ssl`)
          .replace('/etc/ssl/api.example.com.crt', certFile)
          .replace('/etc/ssl/api.example.com.key', keyFile)}
      }`,
    command: (path) => ['nginx', '-p', folder, '-c', path],
  },
  haproxy: {
    block: 'haproxy',
    file: (text, port) =>
      text.replace('bind :443', `bind 127.0.0.1:${port}`).replace('/etc/ssl/api.example.com.pem', bothFile),
    command: (path) => ['haproxy', '-db', '-f', path],
  },
  caddy: {
    block: 'caddyfile',
    file: (text, port) => `{
  admin off
  auto_https disable_redirects
  storage file_system ${folder}/caddy
}
${text.replace('api.example.com {', `https://127.0.0.1:${port} {\n  tls ${certFile} ${keyFile}`)}`,
    command: (path) => ['caddy', 'run', '--adapter', 'caddyfile', '--config', path],
  },
};

function requireProgram(name: string, flag: string): void {
  if (spawnSync(name, [flag]).error !== undefined) {
    throw new Error(`${name} is not installed: apt-get install --no-install-recommends ${name}`);
  }
}

/** Starts the proxy with the block of the page, and waits until it listens. */
async function startProxy(t: Test, name: string, { block, file, command }: Proxy): Promise<string> {
  const text = page.split(`\`\`\`${block}\n`)[1]?.split('```')[0];
  if (text === undefined) throw new Error(`the page has no ${block}`);
  requireProgram(name, name === 'caddy' ? 'version' : '-v');
  const port = await freePorts(1);
  const path = join(folder, `${name}.conf`);
  await writeFile(path, file(text, port).replaceAll('127.0.0.1:8080', upstream));
  const [program = '', ...args] = command(path);
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, HOME: folder },
  });
  const { end, untilReady } = watchChild(child, name);
  t.teardown(() => end('SIGTERM'));
  await untilReady(async () => {
    const socket = connect(port, '127.0.0.1');
    try {
      // rejects when nothing listens
      await once(socket, 'connect');
      return true;
    } finally {
      socket.destroy();
    }
  });
  return `https://127.0.0.1:${port}`;
}

/** Watches a find through the proxy: each event has to come before the next write is made. */
async function passesEventsOn(t: Test, baseUrl: string, slug: string): Promise<void> {
  const url = `${baseUrl}/media/${slug}`;
  const structure = `structure: ${structureOf('media', slug, fieldsOf('a TEXT'))}`;
  const given = ['-s', '--cacert', certFile, '-H', `Authorization: Bearer ${sluice.token}`, '-H', structure];
  const insert = async (a: string): Promise<void> => {
    const body = ['-H', 'Content-Type: application/json', '-d', JSON.stringify({ a })];
    await run('curl', [...given, ...body, `${url}/_single_`]);
  };
  await insert('zero');
  const watching = spawn('curl', [...given, '-N', '-H', 'Accept: text/event-stream', url], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => watching.kill());
  const lines = createInterface({ input: watching.stdout })[Symbol.asyncIterator]();
  const event = async (): Promise<string> => {
    for (;;) {
      const { value, done } = await lines.next();
      if (done === true) throw new Error('the stream ended');
      if (value.startsWith('event: ')) return `${value} ${(await lines.next()).value}`;
    }
  };
  t.match(await event(), /^event: snapshot data: \[\{.*"a":"zero"/);
  t.equal(await event(), 'event: ready data: {}');
  for (const a of ['one', 'two', 'three']) {
    await insert(a);
    t.match(await event(), `"a":"${a}"`, 'an event comes at once');
  }
}

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

for (const [name, proxy] of Object.entries(proxies)) {
  t.test(`${name} serves clients of HTTP/1.0, which Sluice does not`, async (t) => {
    const url = await startProxy(t, name, proxy);
    const { stdout } = await run('curl', [
      '-s',
      '--http1.0',
      '--no-alpn',
      '--cacert',
      certFile,
      '-w',
      '%{http_code}',
      `${url}/healthz`,
    ]);
    t.match(stdout, /200$/);
  });

  t.test(`${name} as the page says`, async (t) => {
    const baseUrl = await startProxy(t, name, proxy);
    /** Answers status and body. */
    const curl = async (path: string, ...args: string[]): Promise<[status: string, body: string]> => {
      const all = ['-s', '--cacert', certFile, '-H', `Authorization: Bearer ${sluice.token}`];
      const { stdout } = await run('curl', [...all, '-w', '\n%{http_code}', ...args, baseUrl + path]);
      const end = stdout.lastIndexOf('\n');
      return [stdout.slice(end + 1), stdout.slice(0, end)];
    };
    const bytes = randomFillSync(Buffer.alloc(20_000_000));
    const path = join(folder, 'file.bin');
    await writeFile(path, bytes);
    for (const extra of [[], ['-H', 'Transfer-Encoding: chunked'], ['--http1.1', '-H', 'Expect:']]) {
      const [status, body] = await curl('/_f_/media/upload', ...extra, '-F', `file=@${path}`);
      t.equal(status, '200', `an upload ${extra.join(' ')}`);
      const copy = join(folder, 'copy.bin');
      const file = JSON.parse(body) as { name: string };
      t.equal((await curl(`/_f_/media/${file.name}`, '-o', copy))[0], '200');
      t.equal(sha256(await readFile(copy)), sha256(bytes), 'comes back byte for byte');
    }

    const over = join(folder, 'over.bin');
    await writeFile(over, Buffer.alloc(100_000_001));
    const [status, body] = await curl('/_f_/media/upload', '-F', `file=@${over}`);
    t.equal(status, '413');
    t.match(JSON.parse(body), { code: 'payload_too_large' }, 'ours, and readable');

    const structure = {
      name: 'Long',
      description: 'x'.repeat(40_000),
      projectSlug: 'media',
      slug: 'long',
      recordStructure: [{ name: 'a', slug: 'a', type: 'TEXT' }],
    };
    const header = `structure: ${JSON.stringify(structure)}`;
    t.strictSame(await curl('/media/long', '-H', header), ['200', '[]'], 'a header of 40 KB');
    t.equal((await curl('/metrics'))[0], '404');
    await passesEventsOn(t, baseUrl, `watched-${name}`);
    const lied = await curl('/media/long', '-H', header, '-H', 'X-Forwarded-Proto: http');
    t.equal(lied[0], '200', 'what a client says of the protocol does not count');
  });
}
