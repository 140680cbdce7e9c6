/** Where a chunked body ends is not known for sure, so its connection serves nothing after it. */
import t, { type Test } from 'tap';
import type { HttpResponse, Route } from '#server/http/http-types.ts';
import { readJson } from '#server/http/read-json.ts';
import { connectRaw } from '../services/raw-http.ts';
import { serveRoutes } from '../services/serve-routes.ts';

/** Serves a route that reads a body and gives this answer, and one that counts how often it is asked. */
async function serve(t: Test, answer: HttpResponse = { status: 200, body: 'read' }) {
  const seen = { read: 0, second: 0 };
  const routes: Route[] = (['POST', 'GET'] as const).map((method) => ({
    method,
    path: '/read',
    handler: async (request) => {
      await readJson(request, 1000);
      seen.read++;
      return answer;
    },
  }));
  routes.push({ method: 'GET', path: '/second', handler: () => ({ status: 200, body: `${++seen.second}` }) });
  const { baseUrl } = await serveRoutes(t, routes);
  return { baseUrl, seen };
}

const second = 'GET /second HTTP/1.1\r\nHost: x\r\n\r\n';
const head = (method = 'POST') => `${method} /read HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`;
const whole = '1\r\n7\r\n0\r\n\r\n';

/** Other requests, so that what was sent before them has been read. */
async function meanwhile(baseUrl: string): Promise<void> {
  for (let i = 0; i < 3; i++) await fetch(`${baseUrl}/nothing`);
}

const inexact: Readonly<Record<string, readonly [body: string, later: string]>> = {
  'a trailer': ['1\r\n7\r\n0\r\n', `a:${second}`],
  'a line break that comes later': ['1\r\n7\r\n0\r\n', `\r\n${second}`],
  'line feeds alone': ['1\n7\r\n0\n', `\r\n${second}`],
  'any two bytes behind the data': ['1\r\n7XY0\r\n', `XY${second}`],
  'a space behind the size': ['1 \r\n7\r\n0 \r\n', `\r\n${second}`],
  'an exact end': [whole, second],
};
for (const [name, [body, later]] of Object.entries(inexact)) {
  t.test(`what follows ${name} ran as a second request`, async (t) => {
    const { baseUrl, seen } = await serve(t);
    const raw = connectRaw(baseUrl);
    raw.send(head() + body);
    t.match(await raw.until(/read\r\n$/), /^HTTP\/1.1 200 OK.*connection: close/s);
    raw.send(later);
    // what follows closes it, if only it is read
    await raw.closed();
    t.equal(raw.received().match(/HTTP\/1\.1 200/g)?.length, 1, 'one answer');
    t.strictSame(seen, { read: 1, second: 0 });
  });
}

t.test('what follows a chunked body in the same segment stops both requests', async (t) => {
  const { baseUrl, seen } = await serve(t);
  for (const rest of [`a:${second}`, `\r\n${second}`, 'X-Checksum: 1\r\n\r\n']) {
    const raw = connectRaw(baseUrl);
    raw.send(`${head()}1\r\n7\r\n0\r\n${rest}`);
    t.notMatch(await raw.closed(), /200 OK/, JSON.stringify(rest));
  }
  t.strictSame(seen, { read: 0, second: 0 });
});

async function* twice(piece: Buffer): AsyncGenerator<Buffer> {
  yield piece;
  yield piece;
}

t.test('answers to chunked bodies are complete, and nothing is served behind them', async (t) => {
  const large = Buffer.alloc(20_000_000, 'x');
  const answers: readonly (readonly [name: string, answer: HttpResponse, bytes: number])[] = [
    ['nothing', { status: 204 }, 0],
    ['no bytes', { status: 200, body: '' }, 0],
    ['a large text', { status: 200, body: large }, large.length],
    ['a stream', { status: 200, body: { chunks: twice(Buffer.from('abc')) } }, 6],
    ['a large stream', { status: 200, body: { chunks: twice(large) } }, 2 * large.length],
    ['a stream with a length', { status: 200, body: { chunks: twice(Buffer.from('abc')), length: 6 } }, 6],
  ];
  for (const [name, answer, bytes] of answers) {
    const { baseUrl, seen } = await serve(t, answer);
    const body = new Blob(['7']).stream();
    const response = await fetch(`${baseUrl}/read`, { method: 'POST', body, duplex: 'half' } as RequestInit);
    t.equal(response.headers.get('connection'), 'close', name);
    t.equal((await response.arrayBuffer()).byteLength, bytes, `all bytes of ${name}`);
    t.strictSame(seen, { read: 1, second: 0 });
  }
});

t.test('a client that takes nothing of a large answer had a second request served', async (t) => {
  const large = Buffer.alloc(20_000_000, 'x');
  for (const answer of [large, { chunks: twice(large) }]) {
    const { baseUrl, seen } = await serve(t, { status: 200, body: answer });
    const raw = connectRaw(baseUrl);
    raw.socket.pause();
    raw.send(head() + whole);
    while (seen.read === 0) await meanwhile(baseUrl);
    raw.send(second);
    await meanwhile(baseUrl);
    raw.socket.resume();
    await raw.closed();
    t.strictSame(seen, { read: 1, second: 0 });
  }
});

t.test('the answer to a HEAD with a chunked body has no body', async (t) => {
  for (const body of ['abc', { chunks: twice(Buffer.from('abc')), length: 6 }]) {
    const { baseUrl, seen } = await serve(t, { status: 200, body });
    const raw = connectRaw(baseUrl);
    raw.send(head('HEAD') + whole);
    const length = typeof body === 'string' ? 3 : 6;
    t.match(
      await raw.until(/\r\n\r\n/),
      new RegExp(`content-length: ${length}\r\nconnection: close\r\n\r\n$`),
    );
    raw.send(second);
    await raw.closed();
    t.strictSame(seen, { read: 1, second: 0 });
  }
});
