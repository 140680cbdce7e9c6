/** What browsers need to show an answer to a page of another origin: also of an answer that comes early, or out of a cache. */
import t, { type Test } from 'tap';
import { RequestLimiter } from '#coordination/rate-limits/request-limiter.ts';
import { overloaded, storageFull } from '#kernel/errors/catalogue.ts';
import { claimPort } from '#server/http/claim-port.ts';
import type { Route } from '#server/http/http-types.ts';
import { readJson } from '#server/http/read-json.ts';
import { connectRaw } from '../services/raw-http.ts';
import { ada, serveFiles } from '../services/serve-files.ts';
import { type ServeOptions, serveRoutes } from '../services/serve-routes.ts';

const origin = 'https://app.example.com';
const corsOrigins = [origin];
const hello: Route = { method: 'GET', path: '/hello', handler: () => ({ status: 200, body: 'hi' }) };
const failing = (path: string, error: Error): Route => ({
  method: 'GET',
  path,
  handler: () => Promise.reject(error),
});
const routes: Route[] = [
  hello,
  { ...hello, path: '/named/:name' },
  failing('/busy', overloaded('of a test')),
  failing('/full', storageFull()),
  { method: 'GET', path: '/never', handler: () => new Promise(() => {}) },
  {
    method: 'POST',
    path: '/echo',
    handler: async (request) => ({ status: 200, body: JSON.stringify(await readJson(request, 1000)) }),
  },
];

/** The answer to bytes that a page of the origin might have sent, and its headers as one text. */
async function answerTo(baseUrl: string, text: string): Promise<string> {
  const raw = connectRaw(baseUrl);
  raw.send(text.replace('\r\n', `\r\nHost: localhost\r\nOrigin: ${origin}\r\n`));
  const received = await raw.until(/\r\n\r\n/);
  raw.socket.destroy();
  return received;
}

function mayRead(t: Test, status: number, answer: string): void {
  t.match(answer, new RegExp(`^HTTP/1.1 ${status} `));
  t.match(answer, `access-control-allow-origin: ${origin}\r\n`, `${status}`);
  t.match(answer, /\r\naccess-control-expose-headers: [^\r]*retry-after/, `${status}`);
  t.match(answer, /\r\nvary: [^\r]*Origin/, `${status}`);
}

t.test('whatever answers early, a page of an allowed origin can read it', async (t) => {
  const ask = async (status: number, text: string, options: ServeOptions = {}) => {
    const { baseUrl } = await serveRoutes(t, routes, { corsOrigins, ...options });
    mayRead(t, status, await answerTo(baseUrl, text));
  };
  const end = ' HTTP/1.1\r\n\r\n';
  await ask(404, `GET /nothing${end}`);
  await ask(400, `GET /named/%E2%82${end}`);
  await ask(405, `PUT /hello HTTP/1.1\r\nContent-Length: 0\r\n\r\n`);
  await ask(400, 'POST /echo HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n0\r\n\r\n');
  await ask(400, 'POST /echo HTTP/1.1\r\nContent-Length: 1\r\n\r\n{');
  await ask(413, `POST /echo HTTP/1.1\r\nContent-Length: 5000\r\n\r\n`);
  await ask(408, 'POST /echo HTTP/1.1\r\nContent-Length: 9\r\n\r\n{', { bodyIdleTimeout: 1 });
  await ask(431, `GET /hello HTTP/1.1\r\nStructure: ${'x'.repeat(70_000)}\r\n\r\n`);
  await ask(403, `GET /hello HTTP/1.1\r\nVia: 1.1 proxy\r\n\r\n`);
  await ask(503, `GET /busy${end}`);
  await ask(503, `GET /never${end}`, { requestTimeout: 1 });
  await ask(507, `GET /full${end}`);
  const limits = { rate: 0.001, burst: 0, inFlight: 0 };
  await ask(429, `GET /hello${end}`, { addressLimiter: new RequestLimiter({ limits }) });
});

t.test('a page learns why a server that is stopping, or about to start, does not serve it', async (t) => {
  const { server, baseUrl } = await serveRoutes(t, routes, { corsOrigins });
  const answer = answerTo(baseUrl, 'GET /never HTTP/1.1\r\n\r\n');
  while (server.activeRequests === 0) await new Promise(setImmediate);
  await server.close(0);
  mayRead(t, 503, await answer);

  const claim = await claimPort({ host: '127.0.0.1', port: 0, corsOrigins });
  t.teardown(() => claim.release());
  const starting = `http://127.0.0.1:${claim.port}`;
  const early = await answerTo(starting, 'GET /people HTTP/1.1\r\n\r\n');
  mayRead(t, 503, early);
  t.match(early, /\r\nvary: Origin, Accept\r\n/, 'one line, with all names');
  const preflight = 'OPTIONS /people HTTP/1.1\r\nAccess-Control-Request-Method: PUT\r\n\r\n';
  const allowed = await answerTo(starting, preflight);
  mayRead(t, 204, allowed);
  t.match(allowed, /\r\naccess-control-allow-methods: PUT\r\n/);
});

t.test('a preflight of what is not there lets the page learn that', async (t) => {
  const { baseUrl } = await serveRoutes(t, [...routes, { ...hello, path: '/own', withoutCors: true }], {
    corsOrigins,
  });
  const asked = (method: string, path: string) =>
    answerTo(baseUrl, `OPTIONS ${path} HTTP/1.1\r\nAccess-Control-Request-Method: ${method}\r\n\r\n`);
  for (const [method, path, allow] of [
    ['GET', '/nothing', 'GET'],
    ['PATCH', '/hello', 'GET, HEAD, OPTIONS, PATCH'],
    ['GET', '/hello', 'GET, HEAD, OPTIONS'],
  ] as const) {
    const answer = await asked(method, path);
    mayRead(t, 204, answer);
    t.match(answer, `\r\naccess-control-allow-methods: ${allow}\r\n`);
  }
  t.notMatch(await asked('GET', '/own'), /access-control/);
});

t.test('what the native parser refuses by itself has no headers of ours', async (t) => {
  const { baseUrl } = await serveRoutes(t, routes, { corsOrigins });
  const lengths = 'Content-Length: 1\r\nTransfer-Encoding: chunked';
  for (const [status, text] of [
    [400, `POST /echo HTTP/1.1\r\n${lengths}\r\n\r\n0\r\n\r\n`],
    [431, `GET /hello HTTP/1.1\r\nStructure: ${'x'.repeat(140_000)}\r\n\r\n`],
  ] as const) {
    const answer = await answerTo(baseUrl, text);
    t.match(answer, new RegExp(`^HTTP/1.1 ${status} `));
    t.notMatch(answer, /access-control|x-request-id/);
  }
});

/** A cache of one browser: an answer is good for another request if what its Vary names is as it was (RFC 9111 section 4.1). */
function cacheOf() {
  const kept = new Map<string, { response: Response; asked: Headers }[]>();
  return async (url: string, init: RequestInit = {}): Promise<Response> => {
    const asked = new Headers(init.headers);
    const all = kept.get(url) ?? [];
    kept.set(url, all);
    const known = all.find(({ response, asked: earlier }) =>
      (response.headers.get('vary') ?? '')
        .split(/, */)
        .every((name) => name === '' || earlier.get(name) === asked.get(name)),
    );
    if (known !== undefined) return known.response;
    const response = await fetch(url, init);
    all.push({ response, asked });
    return response;
  };
}

for (const origins of [['*'], corsOrigins])
  t.test(`a picture that <img> loaded can be fetched by a script as well (${origins})`, async (t) => {
    const { baseUrl, ask, upload } = await serveFiles(t, { corsOrigins: origins });
    const paths: string[] = [];
    for (const content of ['small', 'x'.repeat(100_000)]) {
      const { name } = (await (await upload('a.png', { type: 'image/png', content })).json()) as {
        name: string;
      };
      paths.push(`/_f_/demo/${name}`);
    }
    const [, version] = (await ask(paths[0] as string)).headers.get('etag')?.match(/(.*)/) ?? [];
    const forms: [number, string, RequestInit?][] = paths.flatMap((path) => [
      [200, path],
      [200, path],
      [200, path, { method: 'HEAD' }],
      [206, path, { headers: { range: 'bytes=0-1' } }],
      [416, path, { headers: { range: 'bytes=900000-' } }],
      [412, path, { headers: { 'if-match': '"other"' } }],
    ]);
    forms.push([304, paths[0] as string, { headers: { 'if-none-match': version as string } }]);
    forms.push([404, '/_f_/demo/none'], [404, '/nothing/of/the/kind/at/all']);
    forms.push([200, '/_f_/demo', { headers: { authorization: `Bearer ${ada}` } }]);
    for (const [status, path, init] of forms) {
      const cached = cacheOf();
      const plain = await cached(baseUrl + path, init);
      const script = await cached(baseUrl + path, { ...init, headers: { ...init?.headers, origin } });
      t.strictSame([plain.status, script.status], [status, status], path);
      const allowed = script.headers.get('access-control-allow-origin');
      t.equal(allowed, origins[0], `${status} ${init?.method ?? 'GET'}`);
      t.match(script.headers.get('access-control-expose-headers'), /etag/);
    }
  });

t.test('answers vary by all that they depend on, and those for one origin by none', async (t) => {
  const varied: Route = { ...hello, handler: () => ({ status: 200, headers: { vary: 'Accept' }, body: '' }) };
  const own: Route = { ...hello, path: '/own', withoutCors: true };
  const ask = async (options: ServeOptions, path: string, headers: Record<string, string> = {}) => {
    const { baseUrl } = await serveRoutes(t, [varied, own], options);
    const answer = await fetch(baseUrl + path, { headers });
    return [answer.headers.get('vary'), answer.headers.get('access-control-allow-origin')];
  };
  t.strictSame(await ask({}, '/hello'), ['Accept', '*']);
  t.strictSame(await ask({ corsOrigins }, '/hello'), ['Origin, Accept', null]);
  t.strictSame(await ask({ corsOrigins }, '/hello', { origin }), ['Origin, Accept', origin]);
  t.strictSame(await ask({ corsOrigins }, '/hello', { origin: 'https://other.example' }), [
    'Origin, Accept',
    null,
  ]);
  t.strictSame(await ask({ corsOrigins }, '/nowhere', { origin }), ['Origin, Accept', origin], 'an error');
  for (const options of [{}, { corsOrigins }])
    t.strictSame(await ask(options, '/own', { origin }), [null, null]);
});
