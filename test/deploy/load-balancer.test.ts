/**
 * The load balancer's configuration, run by a real HAProxy before two real gateways and two real query processes that
 * share one engine: TLS, streaming, refusals that can be read, the published client, and a process that is restarted.
 */
import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { connect as connectHttp2 } from 'node:http2';
import { globalAgent, request } from 'node:https';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { getSchemaCreator, type Space } from 'nobox-client';
import t from 'tap';
import { makeKeys } from '../../deploy/compose/init/make-keys.ts';
import { freePorts } from '../services/free-port.ts';
import { haproxyEnv, haproxyFile, requireHaproxy, startHaproxy } from '../services/haproxy.ts';
import { startNameServer } from '../services/name-server.ts';
import { structureOf } from '../services/record-client.ts';
import { startS3Stub } from '../services/s3-stub/start-s3-stub.ts';
import { stubSettings } from '../services/s3-stub/stub-settings.ts';
import { startClickhouse } from '../services/start-clickhouse.ts';
import { acceptanceToken, killAll, removeData, startSluice } from '../services/start-sluice.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';
import { untilEmpty } from '../services/until-empty.ts';

requireHaproxy();
const megabyte = 1024 * 1024;
const maxUploadBytes = 16 * megabyte;
const folder = await temporaryFolder(t);
// as with containers: the same port for all of a kind, each at an address of its own
const port = await freePorts(5);
const addresses = ['127.0.0.2', '127.0.0.3'] as const;
const [gatewayPort, queryPort, consolePort] = [port + 2, port + 3, port + 4];
const baseUrl = `https://127.0.0.1:${port}`;
await makeKeys({ folder, host: 'localhost', bucket: 'files' });
const certificate = join(folder, 'tls', 'sluice.pem');
const ca = await readFile(certificate);
// for the published client, which takes no certificate of its own
globalAgent.options.ca = ca;

const stub = await startS3Stub();
const engine = await startClickhouse({ user: 'sluice', password: 'hunter2-and-more' });
const shared = {
  CLICKHOUSE_URL: engine.url,
  CLICKHOUSE_USER: 'sluice',
  CLICKHOUSE_PASSWORD: 'hunter2-and-more',
  PUBLIC_URL: baseUrl,
  TRUSTED_PROXIES: '127.0.0.0/8',
  DRAIN_DELAY_MS: '3000',
  DRAIN_TIMEOUT_MS: '20000',
};
const files = {
  ...stubSettings(stub),
  PUBLIC_FILES_URL: `${baseUrl}/_files_`,
  MAX_UPLOAD_BYTES: `${maxUploadBytes}`,
  UPLOAD_PART_BYTES: `${5 * megabyte}`,
};
const startGateway = (host: string) =>
  startSluice({
    script: 'gateway/main.ts',
    env: { ...shared, ...files, HOST: host, PORT: `${gatewayPort}` },
  });
const startQuery = (host: string) =>
  startSluice({ script: 'query/main.ts', env: { ...shared, HOST: host, PORT: `${queryPort}` } });
const startConsole = (host: string) =>
  startSluice({ script: 'console/main.ts', env: { ...shared, HOST: host, PORT: `${consolePort}` } });
const [gatewayA, gatewayB, queryA, queryB, dashboard] = await Promise.all([
  startGateway(addresses[0]),
  startGateway(addresses[1]),
  startQuery(addresses[0]),
  startQuery(addresses[1]),
  startConsole(addresses[0]),
]);
const processes = [gatewayA, gatewayB, queryA, queryB, dashboard];
const names = await startNameServer(
  new Map<string, readonly string[]>([
    ['gateway', addresses],
    ['query', addresses],
    ['console', [addresses[0]]],
  ]),
);
const args = {
  certificate,
  port,
  healthPort: port + 1,
  gateways: `gateway:${gatewayPort}`,
  queries: `query:${queryPort}`,
  consoles: `console:${consolePort}`,
  nameServerPort: names.port,
};
const balancer = await startHaproxy(args);
t.teardown(async () => {
  await balancer.stop();
  await killAll(processes);
  await engine.close();
  await stub.close();
  await names.close();
});

interface Reply {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly body: Buffer;
}

interface Call {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: (write: (chunk: Uint8Array) => Promise<void>) => Promise<void>;
}

const bearer = { authorization: `Bearer ${acceptanceToken}` };

/** An answer counts whether or not the body could be sent to its end. */
function call(path: string, { method = 'GET', headers = {}, body }: Call = {}): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const outgoing = request(`${baseUrl}${path}`, {
      method,
      headers: { ...bearer, ...headers },
      ca,
      agent: false,
    });
    let answered = false;
    outgoing.on('response', (answer) => {
      answered = true;
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('error', reject);
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(chunks) }),
      );
    });
    outgoing.on('error', (error) => {
      if (!answered) reject(error);
    });
    if (body === undefined) outgoing.end();
    else {
      const write = (chunk: Uint8Array): Promise<void> =>
        new Promise((done, failed) => outgoing.write(chunk, (error) => (error ? failed(error) : done())));
      body(write).then(
        () => outgoing.end(),
        (error: unknown) => {
          if (!answered) reject(error);
        },
      );
    }
  });
}

const opening = (name: string) =>
  Buffer.from(`--b\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\n\r\n`);
const closing = Buffer.from('\r\n--b--\r\n');
const multipart = { 'content-type': 'multipart/form-data; boundary=b' };
const upload = (name: string, content: Uint8Array, headers: Record<string, string> = {}): Promise<Reply> =>
  call('/_f_/media/upload', {
    method: 'POST',
    headers: { ...multipart, ...headers },
    async body(write) {
      await write(opening(name));
      await write(content);
      await write(closing);
    },
  });

t.test('the configuration as it is mounted is one that HAProxy takes', async (t) => {
  const { stdout, stderr } = await promisify(execFile)('haproxy', ['-c', '-f', haproxyFile], {
    env: haproxyEnv(args),
  });
  t.match(stdout + stderr, /Configuration file is valid/);
});

t.test('every backend is there', async (t) => {
  for (let tries = 0; ; tries++) {
    const answers = await Promise.all([
      call('/_f_/media/none'),
      call('/readyz'),
      call('/_console_/api/session'),
    ]);
    const statuses = answers.map(({ status }) => status);
    if (statuses.join() === '404,200,200') break;
    if (tries === 100) t.fail(`the answers are ${statuses}`);
    await sleep(100);
  }
});

t.test('files as tables are queried where records are', async (t) => {
  const asked = {
    headers: { 'content-type': 'application/json' },
    body: (write: (chunk: Uint8Array) => Promise<void>) => write(Buffer.from('{}')),
  };
  for (const [method, path] of [
    ['QUERY', '/_f_/media/none'],
    ['POST', '/_f_/media/none/_find_'],
  ] as const) {
    const { status, body } = await call(path, { ...asked, method });
    t.match({ status, ...JSON.parse(body.toString()) }, { status: 404, code: 'not_found' }, method);
  }
});

t.test('the processes behind it refuse plain HTTP that does not come through it', async (t) => {
  for (const address of addresses) {
    const direct = [`${address}:${gatewayPort}/_f_/media/none`, `${address}:${queryPort}/balanced/people`];
    for (const url of direct) t.equal((await fetch(`http://${url}`, { headers: bearer })).status, 403);
  }
  // and what a client claims itself does not help or harm
  t.equal((await call('/_f_/media/none', { headers: { 'x-forwarded-proto': 'http' } })).status, 404);
});

t.test('the dashboard is behind the same address, with a cookie for TLS alone', async (t) => {
  const front = await call('/', { headers: { accept: 'text/html' } });
  t.match(front, { status: 302, headers: { location: '/_console_/' } });
  t.match(JSON.parse((await call('/')).body.toString()), { dashboard: '/_console_/' });
  t.equal((await call('/_console_/projects/demo')).status, 200);
  const registered = await call('/_console_/api/register', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
    body: (write) =>
      write(Buffer.from(JSON.stringify({ email: 'ada@example.com', password: 'a password of ada' }))),
  });
  t.equal(registered.status, 201, registered.body.toString());
  const [set = ''] = registered.headers['set-cookie'] ?? [];
  t.match(set, /^__Host-sluice_session=\S+; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Lax; Secure$/);
  const { csrfToken } = JSON.parse(registered.body.toString());
  const issued = await call('/_console_/api/token', {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'sec-fetch-site': 'same-origin',
      'x-csrf-token': csrfToken,
      cookie: set.split(';')[0] as string,
    },
  });
  const { token } = JSON.parse(issued.body.toString());
  const authorization = `Bearer ${token}`;
  t.equal((await call('/_webhooks_/secret', { headers: { authorization } })).status, 200);
});

interface Person {
  name: string;
  age: number;
}
const people: Space<Person> = {
  space: 'People',
  description: 'who we know',
  structure: { name: { type: String, required: true }, age: { type: Number } },
} as unknown as Space<Person>;

t.test('the published client inserts and finds', async (t) => {
  const createSchema = getSchemaCreator(
    { endpoint: baseUrl, project: 'balanced', token: acceptanceToken },
    { type: 'rowed' },
  );
  const model = createSchema<Person>(people);
  await model.insert([
    { name: 'Ada', age: 36 },
    { name: 'Grace', age: 85 },
  ]);
  t.match(await model.find({ age: 36 }), [{ name: 'Ada', age: 36 }]);
});

t.test('an upload streams: a part is in the store before the last byte is sent', async (t) => {
  const content = randomBytes(12 * megabyte);
  let partsBefore = 0;
  const reply = await call('/_f_/media/upload', {
    method: 'POST',
    headers: multipart,
    async body(write) {
      await write(opening('streamed.bin'));
      await write(content.subarray(0, 11 * megabyte));
      // waits for what only the first bytes can bring about; a load balancer that waits for the body hangs here
      for (let tries = 0; partsBefore === 0 && tries < 300; tries++) {
        partsBefore = stub.openUploads().reduce((sum, { parts }) => sum + parts.length, 0);
        await sleep(100);
      }
      await write(content.subarray(11 * megabyte));
      await write(closing);
    },
  });
  t.equal(reply.status, 200, reply.body.toString());
  t.ok(partsBefore > 0);
  t.strictSame(stub.openUploads(), []);

  const { s3Link } = JSON.parse(reply.body.toString()) as { s3Link: string };
  t.ok(s3Link.startsWith(`${baseUrl}/_files_/`), s3Link);
  const stored = await call(s3Link.slice(baseUrl.length));
  t.equal(stored.status, 200);
  t.strictSame(sha256(stored.body), sha256(content));
  const range = await call(s3Link.slice(baseUrl.length), { headers: { range: 'bytes=10-19' } });
  t.strictSame([range.status, range.body], [206, content.subarray(10, 20)]);
});

t.test('a link to a file is for reading, and nothing else is below it', async (t) => {
  t.equal((await call('/_files_/deployment/owner/media/upload', { method: 'POST' })).status, 405);
  t.equal((await call('/_files_/owner/media/upload')).status, 404);
  t.equal((await call('/_files_/a/b/../../x/y')).status, 404);
});

t.test('413 can be read, announced or counted', async (t) => {
  const content = Buffer.alloc(maxUploadBytes + megabyte);
  const length = { 'content-length': `${opening('large').length + content.length + closing.length}` };
  for (const headers of [length, undefined]) {
    const reply = await upload('large', content, headers);
    t.equal(reply.status, 413);
    t.match(JSON.parse(reply.body.toString()), { code: 'payload_too_large' });
  }
  t.strictSame(await untilEmpty(() => stub.openUploads()), []);
});

t.test('HTTP/2: an upload, and 413 that can be read', async (t) => {
  const session = connectHttp2(baseUrl, { ca });
  t.teardown(() => session.close());
  const post = (content: Uint8Array): Promise<{ status: number; body: string }> =>
    new Promise((resolve, reject) => {
      const stream = session.request({
        ':method': 'POST',
        ':path': '/_f_/media/upload',
        ...bearer,
        ...multipart,
      });
      let status = 0;
      let body = '';
      stream.on('response', (headers) => {
        status = Number(headers[':status']);
      });
      stream.setEncoding('utf8');
      stream.on('data', (text: string) => {
        body += text;
      });
      stream.on('close', () => resolve({ status, body }));
      stream.on('error', (error) => {
        if (status === 0) reject(error);
      });
      stream.write(opening('over-h2.bin'));
      stream.write(content);
      stream.end(closing);
    });
  const stored = await post(randomBytes(2 * megabyte));
  t.equal(stored.status, 200, stored.body);
  const refused = await post(Buffer.alloc(maxUploadBytes + megabyte));
  t.equal(refused.status, 413);
  t.match(JSON.parse(refused.body), { code: 'payload_too_large' });
});

t.test('a structure of 48 KiB passes', async (t) => {
  const fields = Array.from({ length: 300 }, (_, index) => ({ name: `field-${index}`, type: 'TEXT' }));
  const structure = structureOf('balanced', 'wide', fields);
  t.ok(structure.length > 30_000, `${structure.length}`);
  const long = structure.replace('made by a test', 'x'.repeat(48 * 1024 - structure.length));
  const reply = await call('/balanced/wide', { headers: { structure: long } });
  t.equal(reply.status, 200, reply.body.toString());
});

t.test('clients of HTTP/1.0 are served', async (t) => {
  const curl = async (path: string, ...args: string[]): Promise<string> => {
    const given = ['-s', '-i', '--http1.0', '--no-alpn', '--cacert', certificate, ...args];
    const token = `Authorization: Bearer ${acceptanceToken}`;
    return (await promisify(execFile)('curl', [...given, '-H', token, baseUrl + path])).stdout;
  };
  t.match(await curl('/_f_/media/upload', '-F', `file=@${certificate}`), / 200 [\s\S]*"sluice\.pem"/);
  const structure = `structure: ${structureOf('media', 'oldest', [])}`;
  t.match(await curl('/media/oldest', '-H', structure), / 200 [\s\S]*\[\]$/);
  t.match(await curl('/metrics'), / 404 /);
});

t.test('metrics are not for the world', async (t) => {
  t.equal((await call('/metrics')).status, 404);
  // and that is the load balancer's word
  for (let tries = 0; tries < 100 && !balancer.log().includes('"path":"/metrics"'); tries++) await sleep(20);
  t.match(balancer.log(), /"path":"\/metrics","status":404,"backend":"clients","server":"<NOSRV>"/);
});

t.test('no request fails while each process is restarted in turn', async (t) => {
  const structure = structureOf('balanced', 'people', [
    { name: 'name', type: 'TEXT', required: true },
    { name: 'age', type: 'NUMBER' },
  ]);
  const large = randomBytes(11 * megabyte);
  const kinds: Record<string, () => Promise<Reply>> = {
    find: () => call('/balanced/people?age=36', { headers: { structure } }),
    insert: () =>
      call('/balanced/people/_single_', {
        method: 'POST',
        headers: { structure, 'content-type': 'application/json' },
        body: (write) => write(Buffer.from(JSON.stringify({ name: 'Alan', age: 41 }))),
      }),
    'small upload': () => upload('small.bin', large.subarray(0, 1000)),
    'large upload': () => upload('large.bin', large),
  };
  const counts: Record<string, number> = {};
  let running = true;
  // a process that does not come back ends the test, and the requests with it
  t.teardown(() => {
    running = false;
  });
  const worker = async ([kind, request]: [string, () => Promise<Reply>]): Promise<void> => {
    while (running) {
      const { status } = await request().catch((error: Error) => ({ status: error.message }));
      const result = `${kind} ${status}`;
      counts[result] = (counts[result] ?? 0) + 1;
    }
  };
  const objectsBefore = stub.objects().length;
  const workers = [...Object.entries(kinds), ...Object.entries(kinds)].map(worker);
  for (const [index, sluice] of processes.entries()) {
    await sleep(500);
    t.equal(await sluice.stop(), 0);
    await removeData(sluice);
    const restart = [startGateway, startGateway, startQuery, startQuery, startConsole][index];
    processes[index] = await (restart as typeof startQuery)(addresses[index % 2] as string);
    // back in the load balancer
    await sleep(1500);
  }
  running = false;
  await Promise.all(workers);
  t.comment(JSON.stringify(counts));
  t.strictSame(
    Object.keys(counts).sort(),
    Object.keys(kinds)
      .map((kind) => `${kind} 200`)
      .sort(),
  );
  t.strictSame(await untilEmpty(() => stub.openUploads()), []);
  const uploads = (counts['small upload 200'] ?? 0) + (counts['large upload 200'] ?? 0);
  t.equal(stub.objects().length - objectsBefore, uploads);
  const found = await call('/balanced/people?age=41', { headers: { structure } });
  t.equal((JSON.parse(found.body.toString()) as unknown[]).length, counts['insert 200']);
});

t.test('its log has no query of a request and no token', async (t) => {
  t.match(balancer.log(), /"path":"\/balanced\/people"/);
  t.notMatch(balancer.log(), /age=36/);
  t.notMatch(balancer.log(), new RegExp(acceptanceToken));
});

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
