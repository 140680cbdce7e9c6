import { once } from 'node:events';
import { BlockList, connect } from 'node:net';
import t from 'tap';
import { payloadTooLarge } from '#kernel/errors/catalogue.ts';
import { claimPort } from '#server/http/claim-port.ts';
import { comment } from '#server/http/event-stream.ts';
import { startHttpServer } from '#server/http/http-server.ts';
import type { HttpResponse, Route } from '#server/http/http-types.ts';
import { readJson } from '#server/http/read-json.ts';
import { createRawClient } from '../services/raw-client.ts';
import { connectRaw } from '../services/raw-http.ts';
import { serveRoutes } from '../services/serve-routes.ts';

const echo: Route = {
  method: 'POST',
  path: '/echo',
  handler: async (request) => ({ status: 200, body: JSON.stringify(await readJson(request, 1000)) }),
};
const hello: Route = { method: 'GET', path: '/hello', handler: () => ({ status: 200, body: 'hi' }) };
const refuse: Route = {
  method: 'POST',
  path: '/refuse',
  transfersBytes: true,
  handler: () => {
    throw payloadTooLarge(100, 'File');
  },
};

t.test('a connection was closed at the moment in which a client used it again', async (t) => {
  const { baseUrl } = await serveRoutes(t, [hello, echo]);
  for (const [init, path] of [
    [{}, '/hello'],
    [{ method: 'POST', body: '{}' }, '/echo'],
    [{ method: 'HEAD' }, '/hello'],
  ] as const) {
    const answer = await fetch(baseUrl + path, init);
    t.equal(answer.headers.get('keep-alive'), 'timeout=7', path);
    t.match(answer.headers.get('x-request-id'), /^[0-9a-f-]{36}$/);
  }
  const raw = connectRaw(baseUrl);
  raw.send('POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n');
  t.notMatch(await raw.until(/connection: close/), /keep-alive/, 'one that closes is not kept');
  raw.socket.destroy();
});

t.test('requests before an answer: in order where it is at hand, else the connection closes', async (t) => {
  let stored = 0;
  const { baseUrl } = await serveRoutes(t, [
    hello,
    {
      method: 'POST',
      path: '/later',
      async handler(request) {
        await readJson(request, 1000);
        await new Promise(setImmediate);
        return { status: 200, body: `${++stored}` };
      },
    },
  ]);
  const raw = connectRaw(baseUrl);
  raw.send('GET /hello HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(3));
  await raw.until(/(?:HTTP\/1\.1 200[\s\S]*?hi){3}/);
  raw.socket.destroy();
  const early = connectRaw(baseUrl);
  early.send('POST /later HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}'.repeat(2));
  t.equal(await early.closed(), '', 'as docs/api.md says');
  t.ok(stored <= 1, 'the second never ran');
});

t.test(
  'a stream that rests had the end of its last chunk with the next one, for which urllib3 waits',
  async (t) => {
    let goOn = (): void => {};
    async function* chunks(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('data: 1\n\n');
      await new Promise<void>((resolve) => {
        goOn = resolve;
      });
    }
    const { baseUrl } = await serveRoutes(t, [
      {
        method: 'GET',
        path: '/events',
        handler: () => ({ status: 200, body: { chunks: chunks(), filler: comment } }),
      },
    ]);
    const raw = connectRaw(baseUrl);
    raw.send('GET /events HTTP/1.1\r\nHost: x\r\n\r\n');
    await raw.until(/\r\n9\r\ndata: 1\n\n\r\n2\r\n:\n$/);
    t.pass('all of it is there while the source rests');
    goOn();
    await raw.until(/:\n\r\n0\r\n\r\n$/);
  },
);

t.test('answers routes with parameters, query and headers', async (t) => {
  const { baseUrl } = await serveRoutes(t, [
    {
      method: 'GET',
      path: '/a/:x/:y',
      handler: (request) => {
        const { params, query } = request;
        const structure = request.header('structure');
        return { status: 200, body: JSON.stringify({ params, query, structure }) };
      },
    },
  ]);
  const response = await fetch(`${baseUrl}/a/%E2%82%AC/b?n=1&m=x+y%26&n=2&empty`, {
    headers: { structure: '{"a":1}' },
  });
  t.strictSame(await response.json(), {
    params: { x: '€', y: 'b' },
    query: [
      ['n', '1'],
      ['m', 'x y&'],
      ['n', '2'],
      ['empty', ''],
    ],
    structure: '{"a":1}',
  });
  t.match(response.headers.get('x-request-id'), /^[0-9a-f-]{36}$/);
});

t.test('keeps a well-formed request id, and replaces another', async (t) => {
  const { baseUrl } = await serveRoutes(t, [hello]);
  const given = await fetch(`${baseUrl}/hello`, { headers: { 'x-request-id': 'abc-12345678' } });
  t.equal(given.headers.get('x-request-id'), 'abc-12345678');
  const odd = await fetch(`${baseUrl}/hello`, { headers: { 'x-request-id': 'a b<script>' } });
  t.match(odd.headers.get('x-request-id'), /^[0-9a-f-]{36}$/);
});

t.test('renders every error in one shape', async (t) => {
  const { baseUrl, log } = await serveRoutes(t, [
    hello,
    {
      method: 'GET',
      path: '/broken',
      handler: () => {
        throw new Error('a secret of the inside');
      },
    },
  ]);
  const cases = [
    ['GET', '/nothing', 404, 'not_found'],
    ['POST', '/hello', 405, 'method_not_allowed'],
    ['PATCH', '/hello', 405, 'method_not_allowed'],
    ['GET', '/broken', 500, 'internal_error'],
    ['GET', '/hello/%zz', 404, 'not_found'],
  ] as const;
  for (const [method, path, status, code] of cases) {
    const response = await fetch(baseUrl + path, { method });
    t.equal(response.status, status, `${method} ${path}`);
    const body = (await response.json()) as Record<string, unknown>;
    t.match(body, { statusCode: status, code, path, message: String, error: [String] });
    t.equal(body.requestId, response.headers.get('x-request-id'));
    t.equal(new Date(body.timestamp as string).toISOString(), body.timestamp);
    t.notMatch(JSON.stringify(body), /secret/);
  }
  const refused = await fetch(`${baseUrl}/hello`, { method: 'DELETE' });
  t.equal(refused.headers.get('allow'), 'GET, HEAD, OPTIONS');
  t.match(log.failures.join(), /request failed/);
});

t.test('refuses broken percent-encoding with 400', async (t) => {
  const { baseUrl } = await serveRoutes(t, [
    { method: 'GET', path: '/:x', handler: ({ query }) => ({ status: 200, body: String(query.length) }) },
  ]);
  for (const path of ['/%', '/%zz', '/%ff', '/a?b=%', '/a?%c3%28=1']) {
    // fetch would repair the address
    const raw = connectRaw(baseUrl);
    raw.send(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
    t.match(await raw.until(/\r\n\r\n/), /^HTTP\/1.1 400 /, path);
    raw.socket.destroy();
  }
});

t.test('a connection goes on after HEAD', async (t) => {
  async function* chunks() {
    yield Buffer.alloc(10);
  }
  const stream = (): HttpResponse => ({ status: 200, body: { length: 10, chunks: chunks() } });
  const { baseUrl } = await serveRoutes(t, [hello, { method: 'GET', path: '/stream', handler: stream }]);
  const client = createRawClient(baseUrl);
  t.teardown(() => client.close());
  for (const path of ['/hello', '/stream']) {
    for (const method of ['HEAD', 'HEAD', 'GET']) {
      const answer = await client.request(
        Buffer.from(`${method} ${path} HTTP/1.1\r\nhost: t\r\n\r\n`),
        10_000,
      );
      t.equal(answer.status, 200, `${method} ${path}`);
    }
  }
});

t.test('answers HEAD like GET without a body', async (t) => {
  const { baseUrl } = await serveRoutes(t, [
    hello,
    {
      method: 'GET',
      path: '/stream',
      handler: () => ({
        status: 200,
        headers: { 'x-kind': 'stream' },
        body: {
          length: 10,
          chunks: (async function* () {
            yield Buffer.alloc(10);
          })(),
        },
      }),
    },
  ]);
  const whole = await fetch(`${baseUrl}/hello`, { method: 'HEAD' });
  t.equal(whole.headers.get('content-length'), '2');
  t.equal(await whole.text(), '');
  const stream = await fetch(`${baseUrl}/stream`, { method: 'HEAD' });
  t.equal(stream.headers.get('content-length'), '10');
  t.equal(stream.headers.get('x-kind'), 'stream');
  t.equal(await stream.text(), '');
});

t.test('answers preflights and marks answers for allowed origins', async (t) => {
  const { baseUrl } = await serveRoutes(t, [hello, echo], { corsOrigins: ['https://app.example.com'] });
  const preflight = (origin: string) =>
    fetch(`${baseUrl}/echo`, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,structure',
      },
    });
  const allowed = await preflight('https://app.example.com');
  t.equal(allowed.status, 204);
  t.equal(allowed.headers.get('access-control-allow-origin'), 'https://app.example.com');
  t.equal(allowed.headers.get('access-control-allow-headers'), 'authorization,structure');
  t.match(allowed.headers.get('access-control-allow-methods'), /POST/);
  const other = await preflight('https://evil.example.com');
  t.equal(other.headers.get('access-control-allow-origin'), null);
  const get = await fetch(`${baseUrl}/hello`, { headers: { origin: 'https://app.example.com' } });
  t.equal(get.headers.get('access-control-allow-origin'), 'https://app.example.com');
  t.equal(get.headers.get('vary'), 'Origin');
  const failed = await fetch(`${baseUrl}/nothing`, { headers: { origin: 'https://app.example.com' } });
  t.equal(failed.headers.get('access-control-allow-origin'), 'https://app.example.com');
  t.equal((await fetch(`${baseUrl}/nothing`, { method: 'OPTIONS' })).status, 404);
});

t.test('an answer whose letters are all in Latin-1 was sent as Latin-1', async (t) => {
  const texts = ['é', 'naïve café', 'é€', 'plain'];
  const routes = texts.map((body, i): Route => {
    return { method: 'GET', path: `/text${i}`, handler: () => ({ status: 200, body }) };
  });
  const { baseUrl } = await serveRoutes(t, routes);
  for (const [i, text] of texts.entries()) {
    const response = await fetch(`${baseUrl}/text${i}`);
    t.strictSame(Buffer.from(await response.arrayBuffer()), Buffer.from(text), text);
  }
});

t.test('limits JSON bodies by declared and by counted length', async (t) => {
  const { baseUrl } = await serveRoutes(t, [echo]);
  const post = (body: string | Buffer | ReadableStream, duplex?: 'half') =>
    fetch(`${baseUrl}/echo`, { method: 'POST', body, ...(duplex ? { duplex } : {}) } as RequestInit);
  t.strictSame(await (await post('{"a":[1,"ü"]}')).json(), { a: [1, 'ü'] });
  t.equal((await post(JSON.stringify('x'.repeat(1000)))).status, 413);
  const chunked = new ReadableStream({
    start(controller) {
      for (let i = 0; i < 20; i++) controller.enqueue(Buffer.alloc(100, 0x20));
      controller.close();
    },
  });
  t.equal((await post(chunked, 'half')).status, 413);
  for (const bad of ['', '{', 'undefined', '{"a":1}x', Buffer.from([0x22, 0xff, 0x22])]) {
    t.equal((await post(bad)).status, 400, JSON.stringify(bad));
  }
});

t.test('a refusal reaches a client that is still sending', async (t) => {
  const { baseUrl } = await serveRoutes(t, [refuse]);
  const { signal } = new AbortController();
  const endless = new ReadableStream({
    pull(controller) {
      controller.enqueue(Buffer.alloc(65536));
    },
  });
  const response = await fetch(`${baseUrl}/refuse`, {
    method: 'POST',
    body: endless,
    duplex: 'half',
    signal,
  } as RequestInit);
  t.equal(response.status, 413);
  t.equal(response.headers.get('connection'), 'close');
  t.match(await response.json(), { code: 'payload_too_large', statusCode: 413 });
});

t.test('a refusal of a claimed 10 GiB body reads little of it', async (t) => {
  const { baseUrl } = await serveRoutes(t, [refuse]);
  const raw = connectRaw(baseUrl);
  raw.send(`POST /refuse HTTP/1.1\r\nHost: x\r\nContent-Length: ${10 * 1024 ** 3}\r\n\r\n`);
  const answer = await raw.until(/\}\r?\n?$/);
  t.match(answer, /^HTTP\/1.1 413 Payload Too Large\r\n/);
  const chunk = Buffer.alloc(65536);
  const sending = setInterval(() => raw.send(chunk), 1);
  await raw.closed();
  clearInterval(sending);
});

t.test('a refusal reaches a client that reads only when it has written all', async (t) => {
  const { baseUrl } = await serveRoutes(t, [refuse]);
  const raw = connectRaw(baseUrl);
  const size = 64 * 1024 * 1024;
  raw.socket.pause();
  raw.send(`POST /refuse HTTP/1.1\r\nHost: x\r\nContent-Length: ${size}\r\n\r\n`);
  const chunk = Buffer.alloc(1024 * 1024);
  for (let sent = 0; sent < size; sent += chunk.byteLength) {
    await new Promise((resolve) => raw.socket.write(chunk, resolve));
  }
  raw.socket.resume();
  t.match(await raw.closed(), /^HTTP\/1.1 413 .*payload_too_large/s);
});

t.test('a client that goes on sending what was refused does not hold up the end of the server', async (t) => {
  const { server, baseUrl } = await serveRoutes(t, [refuse]);
  const raw = connectRaw(baseUrl);
  raw.send(`POST /refuse HTTP/1.1\r\nHost: x\r\nContent-Length: ${100 * 1024 * 1024}\r\n\r\n`);
  await raw.until(/\}\r?\n?$/);
  const sending = setInterval(() => raw.send(Buffer.alloc(32 * 1024)), 10);
  t.teardown(() => clearInterval(sending));
  await server.close(100);
  t.equal((await raw.closed()).match(/HTTP\/1\.1 /g)?.length, 1, 'it got the one answer');
});

t.test('a keep-alive connection survives a refusal with a small body', async (t) => {
  const { baseUrl } = await serveRoutes(t, [refuse, hello]);
  const raw = connectRaw(baseUrl);
  raw.send('POST /refuse HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n12345');
  await raw.until(/\}\r?\n?$/);
  raw.send('GET /hello HTTP/1.1\r\nHost: x\r\n\r\n');
  t.match(await raw.until(/hi$/), /200 OK/);
  raw.socket.destroy();
});

t.test('a body passes with backpressure, whatever the sink does', async (t) => {
  let paused = 0;
  const { baseUrl } = await serveRoutes(t, [
    {
      method: 'POST',
      path: '/slow',
      transfersBytes: true,
      handler: async ({ body }) => {
        // late, so that what came with the head has to wait
        await new Promise((resolve) => setTimeout(resolve, 50));
        return new Promise((resolve, reject) => {
          let sum = 0;
          let size = 0;
          body.consume({
            write(chunk) {
              for (const byte of chunk) sum = (sum * 31 + byte) % 1_000_003;
              size += chunk.byteLength;
              if (paused++ % 3 !== 0) return true;
              setTimeout(() => body.resume(), 1);
              return false;
            },
            end: () => resolve({ status: 200, body: `${size} ${sum}` }),
            fail: reject,
          });
        });
      },
    },
  ]);
  const bytes = Buffer.alloc(20_000_000);
  for (let i = 0; i < bytes.length; i++) bytes[i] = (i * 7919) >> 3;
  let sum = 0;
  for (const byte of bytes) sum = (sum * 31 + byte) % 1_000_003;
  const response = await fetch(`${baseUrl}/slow`, { method: 'POST', body: bytes });
  t.equal(await response.text(), `${bytes.length} ${sum}`);
  t.ok(paused > 10, 'the sink paused');
});

t.test('a stalled body is given up with 408', async (t) => {
  const { baseUrl } = await serveRoutes(t, [echo], { bodyIdleTimeout: 300 });
  const raw = connectRaw(baseUrl);
  raw.send('POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{"a"');
  t.match(await raw.until(/\}\r?\n?$/), /^HTTP\/1.1 408 .*request_timeout/s);
  await raw.closed();
});

t.test('a handler that does not end is given up with 503', async (t) => {
  let aborted = false;
  const { baseUrl } = await serveRoutes(
    t,
    [
      {
        method: 'GET',
        path: '/never',
        handler: ({ signal }) =>
          new Promise(() => {
            signal.addEventListener('abort', () => {
              aborted = true;
            });
          }),
      },
    ],
    { requestTimeout: 300 },
  );
  const response = await fetch(`${baseUrl}/never`);
  t.equal(response.status, 503);
  t.match(await response.json(), { code: 'deadline_exceeded' });
  t.ok(aborted);
});

t.test('a client that goes away aborts the request', async (t) => {
  let aborted: (value: unknown) => void = () => {};
  const gone = new Promise((resolve) => {
    aborted = resolve;
  });
  const { baseUrl } = await serveRoutes(t, [
    {
      method: 'GET',
      path: '/wait',
      handler: ({ signal }) =>
        new Promise(() => {
          signal.addEventListener('abort', () => aborted(signal.reason));
        }),
    },
  ]);
  const raw = connectRaw(baseUrl);
  raw.send('GET /wait HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(raw.socket, 'connect');
  setTimeout(() => raw.socket.destroy(), 50);
  t.match(await gone, { name: 'ClientGoneError' });
});

t.test('a stream goes out no faster than it is read, and ends its source', async (t) => {
  let made = 0;
  let ended = false;
  const source = async function* () {
    try {
      for (let i = 0; i < 2000; i++) {
        made++;
        yield Buffer.alloc(64 * 1024, 65 + (i % 26));
      }
    } finally {
      ended = true;
    }
  };
  const { baseUrl } = await serveRoutes(t, [
    {
      method: 'GET',
      path: '/stream',
      transfersBytes: true,
      handler: () => ({ status: 200, body: { chunks: source() } }),
    },
    {
      method: 'GET',
      path: '/file',
      transfersBytes: true,
      handler: () => ({ status: 200, body: { chunks: source(), length: 2000 * 64 * 1024 } }),
    },
  ]);
  for (const path of ['/stream', '/file']) {
    made = 0;
    ended = false;
    const raw = connectRaw(baseUrl);
    raw.send(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await raw.until(/200 OK/);
    raw.socket.pause();
    // as soon as the kernel's buffers are full nothing more is made
    let before = -1;
    while (before !== made) {
      before = made;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    t.ok(made < 1000, `${path}: ${made} chunks were made for a reader that stopped`);
    raw.socket.destroy();
    while (!ended) await new Promise((resolve) => setTimeout(resolve, 10));
    const all = await (await fetch(baseUrl + path)).arrayBuffer();
    t.equal(all.byteLength, 2000 * 64 * 1024);
  }
});

t.test('a source that fails before its first byte is an error, after it a cut connection', async (t) => {
  const failing = (chunks: number): Route => ({
    method: 'GET',
    path: `/fail${chunks}`,
    handler: () => ({
      status: 200,
      body: {
        chunks: (async function* () {
          for (let i = 0; i < chunks; i++) yield Buffer.alloc(10, 65);
          throw new Error('source broke');
        })(),
      },
    }),
  });
  const { baseUrl, log } = await serveRoutes(t, [failing(0), failing(2)]);
  t.equal((await fetch(`${baseUrl}/fail0`)).status, 500);
  await t.rejects((async () => (await fetch(`${baseUrl}/fail2`)).text())());
  t.equal(log.failures.length, 2);
});

t.test('plain HTTP from elsewhere is refused, except for probes', async (t) => {
  const trustedProxies = new BlockList();
  trustedProxies.addAddress('127.0.0.1');
  const probe: Route = {
    method: 'GET',
    path: '/probe',
    allowPlainHttp: true,
    handler: () => ({ status: 200 }),
  };
  const { baseUrl } = await serveRoutes(t, [hello, probe], { trustedProxies });
  const plain = await fetch(`${baseUrl}/hello`);
  t.equal(plain.status, 403);
  t.match(await plain.json(), { code: 'https_required' });
  t.equal((await fetch(`${baseUrl}/hello`, { headers: { 'x-forwarded-proto': 'http' } })).status, 403);
  t.equal((await fetch(`${baseUrl}/hello`, { headers: { 'x-forwarded-proto': 'https' } })).status, 200);
  t.equal((await fetch(`${baseUrl}/probe`)).status, 200);
});

t.test('a port that is taken is an error with its address', async (t) => {
  const { server, log } = await serveRoutes(t, [hello]);
  const again = startHttpServer({
    host: '127.0.0.1',
    port: server.port,
    tls: undefined,
    trustedProxies: undefined,
    corsOrigins: [],
    bodyIdleTimeout: 1000,
    requestTimeout: 1000,
    routes: [],
    log,
  });
  await t.rejects(again, { message: new RegExp(`127.0.0.1:${server.port} can't be listened on`) });
});

t.test('closing serves what open connections bring; 503 to what is not done in time', async (t) => {
  let finish: () => void = () => {};
  const { server, baseUrl } = await serveRoutes(t, [
    {
      method: 'GET',
      path: '/soon',
      handler: () =>
        new Promise((resolve) => {
          finish = () => resolve({ status: 200, body: 'done' });
        }),
    },
    { method: 'GET', path: '/never', handler: () => new Promise(() => {}) },
    hello,
  ]);
  const soon = fetch(`${baseUrl}/soon`);
  const never = fetch(`${baseUrl}/never`);
  const idle = connectRaw(baseUrl);
  await once(idle.socket, 'connect');
  await new Promise((resolve) => setTimeout(resolve, 100));
  const closing = server.close(500);
  idle.send('GET /hello HTTP/1.1\r\nHost: x\r\n\r\n');
  const answer = await idle.closed();
  t.match(answer, /^HTTP\/1.1 200 .*hi$/s, 'nobody could have sent it elsewhere');
  t.match(answer, /\r\nconnection: close\r\n/i);
  finish();
  t.equal(await (await soon).text(), 'done');
  const refused = await never;
  t.equal(refused.status, 503);
  t.match(await refused.json(), { code: 'shutting_down' });
  await closing;
  await t.rejects(fetch(`${baseUrl}/soon`));
});

t.test('after the announcement of a stop each answer asks for another connection', async (t) => {
  const chunks = async function* () {
    yield Buffer.from('bytes');
  };
  const { server, baseUrl } = await serveRoutes(t, [
    hello,
    { method: 'GET', path: '/none', handler: () => ({ status: 304 }) },
    { method: 'GET', path: '/stream', handler: () => ({ status: 200, body: { chunks: chunks() } }) },
    { method: 'GET', path: '/long', handler: () => ({ status: 200, body: { chunks: chunks(), length: 5 } }) },
  ]);
  const paths = ['/hello', '/none', '/stream', '/long'];
  const connections = async (): Promise<(string | undefined)[]> => {
    const seen: (string | undefined)[] = [];
    for (const path of paths) {
      const raw = connectRaw(baseUrl);
      raw.send(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
      const head = await raw.until(/\r\n\r\n/);
      seen.push(/\r\nconnection: (\S+)\r\n/i.exec(head)?.[1]);
      raw.socket.destroy();
    }
    return seen;
  };
  t.strictSame(await connections(), [undefined, undefined, undefined, undefined]);
  server.announceStop();
  t.strictSame(await connections(), ['close', 'close', 'close', 'close'], 'and still serves');
});

t.test('a streamed answer that ends while the server stops is whole', async (t) => {
  const streaming: Route = {
    method: 'GET',
    path: '/stream',
    handler: () => {
      const chunks = async function* () {
        yield Buffer.from('some bytes, ');
        await new Promise((resolve) => setTimeout(resolve, 50));
        yield Buffer.from('and more');
      };
      return { status: 200, body: { chunks: chunks() } };
    },
  };
  const { server, baseUrl } = await serveRoutes(t, [streaming]);
  const begun = await fetch(`${baseUrl}/stream`);
  server.announceStop();
  t.equal(await begun.text(), 'some bytes, and more');
  const raw = connectRaw(baseUrl);
  raw.send('GET /stream HTTP/1.1\r\nHost: x\r\n\r\n');
  const answer = await raw.until(/\r\n0\r\n\r\n$/);
  t.match(answer, /\r\nconnection: close\r\n.*\r\n\r\nc\r\nsome bytes, \r\n8\r\nand more\r\n0\r\n\r\n$/is);
  raw.socket.destroy();
});

t.test('a claimed port is nobody else’s, whether they share or not', async (t) => {
  const claim = await claimPort({ host: '127.0.0.1', port: 0, corsOrigins: ['*'] });
  const { port } = claim;
  await t.rejects(claimPort({ host: '127.0.0.1', port, corsOrigins: ['*'] }), /can't be listened on/);
  await t.rejects(serveRoutes(t, [hello], { port }), /can't be listened on/);
  const meanwhile = await fetch(`http://127.0.0.1:${port}/hello`);
  t.strictSame([meanwhile.status, meanwhile.headers.get('retry-after')], [503, '1']);
  t.match(await meanwhile.json(), { code: 'not_ready', path: '/hello' });
  const a = await serveRoutes(t, [hello], { port, sharedPort: true });
  const b = await serveRoutes(t, [hello], { port, sharedPort: true });
  claim.release();
  t.strictSame([a.server.port, b.server.port], [port, port]);
  for (let i = 0; i < 20; i++) {
    const response = await fetch(`http://127.0.0.1:${port}/hello`, { headers: { connection: 'close' } });
    t.equal(await response.text(), 'hi');
  }
  await t.rejects(
    claimPort({ host: '127.0.0.1', port, corsOrigins: ['*'] }),
    /can't be listened on/,
    'the workers hold it',
  );
});

t.test('what is there for this machine alone is not there for others', async (t) => {
  const inside: Route = { ...hello, path: '/inside', localOnly: true, allowPlainHttp: true };
  const { baseUrl } = await serveRoutes(t, [inside]);
  t.equal((await fetch(`${baseUrl}/inside`)).status, 200);
  for (const name of ['x-forwarded-for', 'x-forwarded-proto', 'forwarded', 'via', 'x-real-ip']) {
    t.equal((await fetch(`${baseUrl}/inside`, { headers: { [name]: 'https' } })).status, 404, name);
  }
});

t.test('an observer sees every request by its pattern, and the bytes that came', async (t) => {
  const told: unknown[] = [];
  const bytes = new Map<string, number>();
  const { server, baseUrl } = await serveRoutes(
    t,
    [
      { ...echo, operation: 'echo' },
      { method: 'GET', path: '/never', handler: () => new Promise(() => {}) },
      hello,
    ],
    {
      observer: {
        answered({ route, operation, method, status, seconds, bytesIn, bytesOut }) {
          t.ok(seconds >= 0);
          told.push([route, operation, method, status, bytesIn, bytesOut > 0]);
        },
        received: (route, more) => bytes.set(route, (bytes.get(route) ?? 0) + more),
      },
    },
  );
  await (await fetch(`${baseUrl}/echo`, { method: 'POST', body: '{"a":1}' })).text();
  await (await fetch(`${baseUrl}/hello?secret`)).text();
  await (await fetch(`${baseUrl}/nowhere/secret`)).text();
  const gone = connectRaw(baseUrl);
  gone.send('GET /never HTTP/1.1\r\nHost: x\r\n\r\n');
  while (server.activeRequests === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  gone.socket.destroy();
  while (server.activeRequests > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  t.strictSame(told, [
    ['/echo', 'echo', 'POST', 200, 7, true],
    ['/hello', '', 'GET', 200, 0, true],
    ['', '', 'GET', 404, 0, true],
    ['/never', '', 'GET', null, 0, false],
  ]);
  t.strictSame([...bytes], [['/echo', 7]]);
});

t.test('a thousand requests in one segment made a thousand answers that nobody read', async (t) => {
  let asked = 0;
  const body = Buffer.alloc(256 * 1024, 'x');
  const large: Route = {
    method: 'GET',
    path: '/large',
    handler: () => {
      asked++;
      return { status: 200, body };
    },
  };
  const { server, baseUrl } = await serveRoutes(t, [large, hello]);
  const socket = connect(server.port, '127.0.0.1');
  t.teardown(() => socket.destroy());
  socket.pause();
  socket.on('error', () => {});
  socket.write('GET /large HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(1000));
  // what came in that segment is served before others are
  for (let i = 0; i < 5 || asked === 0; i++) await (await fetch(`${baseUrl}/hello`)).text();
  t.ok(asked < 100, `${asked} answers`);
});

t.test('a large answer at hand goes out as its client takes it', async (t) => {
  const body = Buffer.from(Array.from({ length: 20_000_000 }, (_, index) => index % 251));
  const over: number[] = [];
  const large: Route = {
    method: 'GET',
    path: '/large',
    handler: (request) => {
      request.onOver(() => over.push(1));
      return { status: 200, body };
    },
  };
  const { server } = await serveRoutes(t, [large]);
  const socket = connect(server.port, '127.0.0.1');
  t.teardown(() => socket.destroy());
  for (let i = 0; i < 2; i++) {
    socket.pause();
    socket.write('GET /large HTTP/1.1\r\nHost: a\r\n\r\n');
    await new Promise((resolve) => setImmediate(resolve));
    t.equal(over.length, i, 'it waits for its client');
    const chunks: Buffer[] = [];
    let received = 0;
    let head = 0;
    while (head === 0 || received < head + body.byteLength) {
      if (socket.readableLength === 0) await once(socket, 'readable');
      const chunk = socket.read() as Buffer | null;
      if (chunk === null) continue;
      chunks.push(chunk);
      received += chunk.byteLength;
      if (head === 0) head = Buffer.concat(chunks).indexOf('\r\n\r\n') + 4;
    }
    const answer = Buffer.concat(chunks);
    t.ok(answer.subarray(-body.byteLength).equals(body));
  }
  t.equal(over.length, 2);
});
