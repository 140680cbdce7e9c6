/**
 * Behind the load balancer a request may come in small segments, although the HTTP server itself refuses one whose
 * first line is split (docs/decisions/001): HAProxy sends a head on when it is whole.
 */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { BlockList } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'node:tls';
import t from 'tap';
import { startHttpServer } from '../../common/server/http/http-server.ts';
import type { Route } from '../../common/server/http/http-types.ts';
import { readJson } from '../../common/server/http/read-json.ts';
import { makeKeys } from '../../deploy/compose/init/make-keys.ts';
import { freePorts } from '../services/free-port.ts';
import { requireHaproxy, startHaproxy } from '../services/haproxy.ts';
import { startNameServer } from '../services/name-server.ts';
import { silentLog } from '../services/silent-log.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';

requireHaproxy();
const folder = await temporaryFolder(t);
await makeKeys({ folder, host: 'localhost', bucket: 'files' });
const certificate = join(folder, 'tls', 'sluice.pem');
const ca = await readFile(certificate);
const trustedProxies = new BlockList();
trustedProxies.addSubnet('127.0.0.0', 8);
const routes: Route[] = [
  { method: 'GET', path: '/readyz', allowPlainHttp: true, handler: () => ({ status: 200 }) },
  {
    method: 'GET',
    path: '/:project/:space',
    handler: ({ query }) => ({ status: 200, body: `read ${JSON.stringify(query).length}` }),
  },
  {
    method: 'POST',
    path: '/:project/:space',
    handler: async (request) => ({
      status: 200,
      body: `stored ${JSON.stringify(await readJson(request, 1e5))}`,
    }),
  },
];
const server = await startHttpServer({
  host: '127.0.0.1',
  port: 0,
  tls: undefined,
  trustedProxies,
  corsOrigins: [],
  bodyIdleTimeout: 60_000,
  requestTimeout: 60_000,
  log: silentLog(),
  routes,
});
const names = await startNameServer(new Map(['gateway', 'query'].map((name) => [name, ['127.0.0.1']])));
const port = await freePorts(2);
const balancer = await startHaproxy({
  certificate,
  port,
  healthPort: port + 1,
  gateways: `gateway:${server.port}`,
  queries: `query:${server.port}`,
  nameServerPort: names.port,
});
t.teardown(async () => {
  await balancer.stop();
  await names.close();
  await server.close(0);
});

/** The answer to a request that is sent in segments of so many bytes, `pause` ms apart. */
async function answerTo(request: string, segment: number, pause: number): Promise<string> {
  const socket = connect({
    port,
    host: '127.0.0.1',
    ca,
    servername: 'localhost',
    ALPNProtocols: ['http/1.1'],
  });
  socket.setNoDelay(true);
  let text = '';
  socket.on('data', (bytes) => {
    text += bytes.toString('latin1');
  });
  await once(socket, 'secureConnect');
  const ended = once(socket, 'close');
  const bytes = Buffer.from(request);
  for (let at = 0; at < bytes.byteLength; at += segment) {
    socket.write(bytes.subarray(at, at + segment));
    await sleep(pause);
  }
  await ended;
  return text;
}

const headers = 'Host: localhost\r\nConnection: close\r\n';

t.test('requests in small segments are answered', async (t) => {
  // HAProxy knows its servers once it has asked for their names and looked at them
  for (;;) {
    if (/^HTTP\/1\.1 200/.test(await answerTo(`GET /p/s HTTP/1.1\r\n${headers}\r\n`, 1e6, 0))) break;
    await sleep(100);
  }
  const cases: readonly (readonly [string, number, RegExp])[] = [
    [`GET /p/s?name=Ada HTTP/1.1\r\n${headers}\r\n`, 1, /^HTTP\/1\.1 200 .*read 16$/s],
    [`POST /p/s HTTP/1.1\r\n${headers}Content-Length: 9\r\n\r\n[{"a":1}]`, 1, /stored \[\{"a":1\}\]$/],
    [`GET /p/s?name=${'a'.repeat(2240)} HTTP/1.1\r\n${headers}\r\n`, 1448, /read 2253$/],
    [`GET /p/s?name=${'a'.repeat(2240)} HTTP/1.1\r\n${headers}\r\n`, 100, /read 2253$/],
  ];
  for (const [request, segment, wanted] of cases) {
    t.match(await answerTo(request, segment, 2), wanted, `${request.slice(0, 30)} by ${segment}`);
  }
});
