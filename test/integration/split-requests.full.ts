/**
 * A request may come in as many TCP segments as the network likes. Node 20: the native parser of its binary refuses a
 * request whose first line is split (uNetworking/uWebSockets#1776), and waits for the rest of some whole ones.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import t from 'tap';
import { readJson } from '#server/http/read-json.ts';
import { serveRoutes } from '../services/serve-routes.ts';

/** Node 20: its binary answers 505 and closes; see docs/decisions/001. */
const refusesSplitLines = process.versions.modules === '115';

const common = 'Host: x\r\nAuthorization: Bearer token\r\n';
const shapes = {
  'a short GET': `GET /find HTTP/1.1\r\n${common}\r\n`,
  'a GET with a query': `GET /find?name=Ada&age=36 HTTP/1.1\r\n${common}structure: {"name":"é"}\r\n\r\n`,
  HEAD: `HEAD /find HTTP/1.1\r\n${common}\r\n`,
  OPTIONS: `OPTIONS /find HTTP/1.1\r\n${common}\r\n`,
  DELETE: `DELETE /find?id=1 HTTP/1.1\r\n${common}\r\n`,
  'a POST with a length': `POST /insert HTTP/1.1\r\n${common}Content-Length: 9\r\n\r\n[{"a":1}]`,
  'a chunked POST': `POST /insert HTTP/1.1\r\n${common}Transfer-Encoding: chunked\r\n\r\n4\r\n[{"a\r\n5\r\n":1}]\r\n0\r\n\r\n`,
  QUERY: `QUERY /find HTTP/1.1\r\n${common}Content-Length: 7\r\n\r\n{"a":1}`,
};

const found = () => ({ status: 200, body: 'found' });
const { server } = await serveRoutes(t, [
  { method: 'GET', path: '/find', handler: found },
  { method: 'DELETE', path: '/find', handler: found },
  ...(['POST', 'QUERY'] as const).map((method) => ({
    method,
    path: method === 'POST' ? '/insert' : '/find',
    handler: async (request: Parameters<typeof readJson>[0]) => {
      await readJson(request, 100);
      return found();
    },
  })),
]);

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** The status of a request that is sent in these pieces, each of which is read before the next one is sent. */
async function statusOf(pieces: readonly Buffer[]): Promise<string> {
  const socket = connect(server.port, '127.0.0.1');
  socket.setNoDelay(true);
  socket.on('error', () => {});
  await once(socket, 'connect');
  const answer = new Promise<string>((resolve) => {
    socket.once('data', (bytes) => resolve(bytes.toString().split(' ')[1] as string));
    socket.once('close', () => resolve('closed'));
  });
  for (const piece of pieces) {
    await new Promise((resolve) => socket.write(piece, resolve));
    // the server runs on this event loop: it reads what is there before the loop has gone round
    for (let i = 0; i < 3; i++) await turn();
  }
  const status = await answer;
  socket.destroy();
  return status;
}

for (const [name, text] of Object.entries(shapes)) {
  t.test(`${name}, split at every byte`, async (t) => {
    const bytes = Buffer.from(text);
    const wanted = await statusOf([bytes]);
    t.match(wanted, /^20[04]$/);
    const refused: number[] = [];
    for (let at = 1; at < bytes.byteLength; at++) {
      const status = await statusOf([bytes.subarray(0, at), bytes.subarray(at)]);
      if (status !== wanted) refused.push(at);
    }
    const afterLine = text.indexOf('\r\n') + 2;
    const split = Array.from({ length: afterLine - 4 }, (_, i) => i + 4);
    const expected = refusesSplitLines ? split : [];
    t.strictSame(
      refused,
      expected,
      refused.length < expected.length
        ? 'now works: update refusesSplitLines here, the table in README.md and docs/decisions/001'
        : 'refused where its first line was split, and nowhere else',
    );
  });
}

t.test('the rest of a request may come byte by byte', async (t) => {
  for (const [name, text] of Object.entries(shapes)) {
    const line = text.indexOf('\r\n') + 2;
    const rest = [...Buffer.from(text.slice(line))].map((byte) => Buffer.from([byte]));
    t.match(await statusOf([Buffer.from(text.slice(0, line)), ...rest]), /^20[04]$/, name);
  }
});

t.test('header names with other characters than letters, digits and `-`, and folded headers', async (t) => {
  const headers = { 'x_user: a': '200', 'x.user: a': '200', 'x-user: a\r\n b': '400' };
  const statuses = Object.keys(headers).map((header) =>
    statusOf([Buffer.from(`GET /find HTTP/1.1\r\n${common}${header}\r\n\r\n`)]),
  );
  // Node 20: the connection closes after 10 s
  const expected = Object.values(headers).map((status) => (refusesSplitLines ? 'closed' : status));
  t.strictSame(await Promise.all(statuses), expected);
});
