/** What is refused at the door of the HTTP server, and what is let in. */
import { once } from 'node:events';
import { BlockList } from 'node:net';
import t from 'tap';
import { healthRoutes } from '#process/process-routes/health-routes.ts';
import { metricsRoute } from '#process/process-routes/metrics-route.ts';
import { nativeHeaders } from '#server/http/head-limits.ts';
import type { Route } from '#server/http/http-types.ts';
import { readJson } from '#server/http/read-json.ts';
import { connectRaw } from '../services/raw-http.ts';
import { serveRoutes } from '../services/serve-routes.ts';

const serve = async (...call: Parameters<typeof serveRoutes>): Promise<string> =>
  (await serveRoutes(...call)).baseUrl;

const read: Route['handler'] = async (request) => ({
  status: 200,
  body: JSON.stringify(await readJson(request, 1000)),
});
const echo: Route = { method: 'POST', path: '/echo', handler: read };
const hello: Route = { method: 'GET', path: '/hello', handler: () => ({ status: 200, body: 'hi' }) };

t.test('a request whose end is not clear is refused, and what follows is no request', async (t) => {
  const baseUrl = await serve(t, [echo, hello]);
  const smuggled = 'GET /hello HTTP/1.1\r\nHost: x\r\n\r\n';
  const chunked = `1\r\n1\r\n0\r\n\r\n${smuggled}`;
  const shapes: readonly (readonly [headers: string, body: string])[] = [
    ['Content-Length: ', smuggled],
    ['Content-Length:', smuggled],
    ['Content-Length:\t', smuggled],
    ['Transfer-Encoding: ', smuggled],
    ['Transfer-Encoding:', smuggled],
    [`Transfer-Encoding: \r\nContent-Length: ${smuggled.length}`, smuggled],
    ['Transfer-Encoding: foo', chunked],
    ['Transfer-Encoding: identity', chunked],
    ['Transfer-Encoding: gzip, chunked', chunked],
    ['Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked', chunked],
    ['Transfer-Encoding: chunked, identity', chunked],
  ];
  for (const [headers, body] of shapes) {
    for (const line of ['POST /echo', 'GET /hello', 'POST /nothing']) {
      const raw = connectRaw(baseUrl);
      raw.send(`${line} HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n${body}`);
      const text = await raw.closed();
      // what follows in the same segment closes the connection natively, and may take the answer with it
      t.match(
        text,
        /^(HTTP\/1\.1 400 .*"code":"malformed_request".*)?$/s,
        `${line} ${JSON.stringify(headers)}`,
      );
      t.ok((text.match(/HTTP\/1\.1/g)?.length ?? 0) <= 1, 'at most one answer');
      const alone = connectRaw(baseUrl);
      alone.send(`${line} HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n`);
      t.match(
        await alone.until(/\}\r?\n?$/),
        /^HTTP\/1\.1 400 .*"code":"malformed_request"/s,
        'an answer that can be read',
      );
      alone.send(smuggled);
      t.notMatch(await alone.closed(), /200 OK/);
    }
  }
  const raw = connectRaw(baseUrl);
  raw.send('POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n1\r\n7\r\n0\r\n\r\n');
  t.match(await raw.until(/7\r\n$/), /200 OK/);
  raw.socket.destroy();
});

t.test('a header that is no UTF-8 is Latin-1', async (t) => {
  const show: Route = {
    method: 'GET',
    path: '/show',
    handler: (request) => ({ status: 200, body: JSON.stringify(request.header('x-name')) }),
  };
  const baseUrl = await serve(t, [show]);
  const cases: readonly (readonly [Buffer, string])[] = [
    [Buffer.from('["café"]', 'latin1'), '["café"]'],
    [Buffer.from('["café"]'), '["café"]'],
    [Buffer.from('Zoë \xff\xfe.', 'latin1'), 'Zoë ÿþ.'],
    [Buffer.from('[€ \uFFFD]'), '[€ \uFFFD]'],
  ];
  for (const [bytes, wanted] of cases) {
    const raw = connectRaw(baseUrl);
    raw.send(
      Buffer.concat([
        Buffer.from('GET /show HTTP/1.1\r\nHost: x\r\nX-Name: '),
        bytes,
        Buffer.from('\r\n\r\n'),
      ]),
    );
    const text = Buffer.from(await raw.until(/"$/), 'latin1').toString();
    t.equal(JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4)), wanted);
    raw.socket.destroy();
  }
});

t.test('who forwards from this machine is a proxy, and must be a trusted one', async (t) => {
  const forwarded = [
    { 'x-forwarded-proto': 'http' },
    { 'x-forwarded-proto': 'https' },
    { 'x-forwarded-for': '192.0.2.1' },
    { 'x-real-ip': '192.0.2.1' },
    { via: '1.1 proxy' },
    { forwarded: 'for=192.0.2.1' },
  ];
  const untrusting = await serve(t, [hello]);
  t.equal((await fetch(`${untrusting}/hello`)).status, 200);
  for (const headers of forwarded) {
    const refused = await fetch(`${untrusting}/hello`, { headers: headers as Record<string, string> });
    t.equal(refused.status, 403, JSON.stringify(headers));
    t.match(await refused.json(), { code: 'https_required' });
  }
  const trustedProxies = new BlockList();
  trustedProxies.addAddress('127.0.0.1');
  const trusting = await serve(t, [hello], { trustedProxies });
  for (const headers of forwarded) {
    const { status } = await fetch(`${trusting}/hello`, { headers: headers as Record<string, string> });
    t.equal(status, headers['x-forwarded-proto'] === 'https' ? 200 : 403, JSON.stringify(headers));
  }
});

t.test('a page with a name rebound to this machine read /metrics, and could claim an account', async (t) => {
  const routes = [metricsRoute({ token: undefined, read: async () => 'numbers' }), hello];
  const baseUrl = await serve(t, routes, {
    publicUrl: 'https://API.example.com/base',
    allowedHosts: ['files.internal'],
  });
  const ask = async (host: string, line = 'GET /metrics', more = ''): Promise<string> => {
    const raw = connectRaw(baseUrl);
    raw.send(`${line} HTTP/1.1\r\nHost: ${host}\r\n${more}Connection: close\r\n\r\n`);
    return await raw.closed();
  };
  const names = [
    'rebound.example',
    'rebound.example:8080',
    'localhost.rebound.example',
    '127.0.0.1.rebound.example',
  ];
  for (const host of [
    ...names,
    'x@rebound.example',
    'evilfiles.internal',
    'api.example.com.rebound.example',
  ]) {
    for (const line of ['GET /metrics', 'GET /hello', 'OPTIONS /hello', 'GET /nothing']) {
      t.match(await ask(host, line), /^HTTP\/1.1 403 .*"code":"unknown_host"/s, `${line} of ${host}`);
    }
  }
  for (const host of '127.0.0.1:80 127.1 [::1]:8080 [::1] 10.0.0.1 LOCALHOST:1 app.localhost'.split(' ')) {
    t.match(await ask(host), /^HTTP\/1.1 200 .*numbers$/s, host);
  }
  for (const host of ['gateway:8080', 'api.example.com', 'API.example.com.:443', 'files.internal:8080']) {
    t.match(await ask(host), /^HTTP\/1.1 200 .*numbers$/s, host);
  }
  // who forwards is no page, and is refused for something else, or believed
  t.match(await ask('cdn.example', 'GET /hello', 'Via: 1.1 proxy\r\n'), /"code":"https_required"/);
  const trustedProxies = new BlockList();
  trustedProxies.addAddress('127.0.0.1');
  const proxied = await serve(t, [hello], { trustedProxies });
  const raw = connectRaw(proxied);
  raw.send('GET /hello HTTP/1.1\r\nHost: cdn.example\r\nX-Forwarded-Proto: https\r\n\r\n');
  t.match(await raw.until(/hi$/), /^HTTP\/1.1 200 /);
  raw.socket.destroy();
});

t.test('/metrics is not for web pages', async (t) => {
  for (const token of [undefined, 'secret']) {
    const baseUrl = await serve(t, [metricsRoute({ token, read: async () => 'numbers' }), hello]);
    const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
      fetch(baseUrl + path, { method, headers: { authorization: 'Bearer secret', ...headers } });
    t.equal(await (await get('/metrics')).text(), 'numbers');
    const origin = 'https://page.example';
    const page = await get('/metrics', { origin });
    const preflight = await get('/metrics', { origin, 'access-control-request-method': 'GET' }, 'OPTIONS');
    for (const { headers } of [page, preflight]) {
      t.notOk([...headers.keys()].some((name) => name.startsWith('access-control-')));
    }
    t.equal((await get('/hello', { origin })).headers.get('access-control-allow-origin'), '*');
  }
});

t.test('QUERY is a method with a body (RFC 10008)', async (t) => {
  const baseUrl = await serve(t, [
    { ...hello, path: '/find' },
    { method: 'QUERY', path: '/find', handler: read },
  ]);
  const answer = await fetch(`${baseUrl}/find`, { method: 'QUERY', body: '{"age":36}' });
  t.strictSame(await answer.json(), { age: 36 });
  const raw = connectRaw(baseUrl);
  raw.send('QUERY /find HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n[1]\r\n0\r\n\r\n');
  t.match(await raw.until(/\[1\]\r\n$/), /200 OK/);
  raw.socket.destroy();
  t.equal(
    (await fetch(`${baseUrl}/find`, { method: 'PATCH' })).headers.get('allow'),
    'GET, QUERY, HEAD, OPTIONS',
  );
});

t.test('who closes the sending half after the request counts as gone', async (t) => {
  const heard = new EventTarget();
  const gone = once(heard, 'gone');
  const wait: Route = {
    method: 'POST',
    path: '/wait',
    handler: async (request) => {
      await readJson(request, 1000);
      if (!request.signal.aborted) await once(request.signal, 'abort');
      heard.dispatchEvent(new Event('gone'));
      return { status: 200 };
    },
  };
  const raw = connectRaw(await serve(t, [wait]));
  raw.socket.end('POST /wait HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}');
  t.equal(await raw.closed(), '', 'docs/api.md, "Limits"');
  t.ok(await gone, 'the request was read, and hears that nobody waits for it');
});

t.test('/health says that the process lives, and the time', async (t) => {
  const baseUrl = await serve(
    t,
    healthRoutes([], () => null),
  );
  const answer = await fetch(`${baseUrl}/health`);
  t.equal(answer.status, 200);
  const body = (await answer.json()) as { status: string; timestamp: string };
  t.equal(body.status, 'ok');
  t.equal(new Date(body.timestamp).toISOString(), body.timestamp);
});

t.test('beyond the number of headers that the parser takes there is no answer, or a 431', async (t) => {
  const baseUrl = await serve(t, [hello]);
  const answerTo = (headers: number): Promise<string> => {
    const raw = connectRaw(baseUrl);
    raw.socket.end(`GET /hello HTTP/1.1\r\nHost: x\r\n${'x-more: 1\r\n'.repeat(headers - 1)}\r\n`);
    return raw.closed();
  };
  t.match(await answerTo(nativeHeaders), /^HTTP\/1.1 200 .*hi$/s);
  // the parser for later versions of Node.js says why
  t.match(await answerTo(nativeHeaders + 1), /^(?:$|HTTP\/1\.1 431 )/);
});

t.test('a head that is too large is a 431 with the limit, however it arrives', async (t) => {
  const baseUrl = await serve(t, [echo, hello]);
  const head = (size: number): string =>
    `GET /hello HTTP/1.1\r\nHost: x\r\nx-large: ${'a'.repeat(size - 43)}\r\n\r\n`;
  for (const size of [65_536, 65_600, 100_000, 130_000]) {
    for (const step of [16_384, size]) {
      const raw = connectRaw(baseUrl);
      for (let sent = 0; sent < size; sent += step) {
        raw.send(head(size).slice(sent, sent + step));
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
      const answer = await raw.until(/(hi|\})\r?\n?$/);
      if (size <= 65_536) t.match(answer, /^HTTP\/1.1 200 /);
      else t.match(answer, /^HTTP\/1.1 431 .*"headers_too_large".*the limit is 65536/s, `${size} by ${step}`);
      raw.socket.destroy();
    }
  }
  const upload = connectRaw(baseUrl);
  upload.send(
    `POST /echo HTTP/1.1\r\nHost: x\r\nx-large: ${'a'.repeat(70_000)}\r\nContent-Length: 2\r\n\r\n{}`,
  );
  t.match(await upload.until(/\}\r?\n?$/), /^HTTP\/1.1 431 /);
  upload.socket.destroy();
});
