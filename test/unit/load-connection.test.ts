import { once } from 'node:events';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { Connection } from '../../load/http/connection.ts';
import { ConnectionPool } from '../../load/http/connection-pool.ts';

async function addressOf(t: Test, server: Server): Promise<string> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function openTo(t: Test, listener: RequestListener): Promise<Connection> {
  return openConnection(t, await addressOf(t, createHttpServer(listener)));
}

async function openConnection(t: Test, url: string): Promise<Connection> {
  const connection = await Connection.open(url);
  t.teardown(() => connection.close());
  return connection;
}

/** A server that writes these bytes for each request. */
async function openRaw(t: Test, answer: (socket: Socket) => void): Promise<Connection> {
  const server = createServer((socket) => socket.on('data', () => answer(socket)));
  return openConnection(t, await addressOf(t, server));
}

const head = (method = 'GET', fields = ''): string =>
  `${method} /path HTTP/1.1\r\nhost: test\r\n${fields}\r\n`;
const keep = 1e6;

t.test('bodies with a length, in chunks, and without a byte, over one connection', async (t) => {
  const bodies = ['', 'short', 'x'.repeat(200_000)];
  let connections = 0;
  const server = createHttpServer(async (request, response) => {
    const [, form, place] = (request.url as string).split('/');
    const body = bodies[Number(place)] as string;
    if (form === 'length') response.setHeader('content-length', body.length);
    response.write(body.slice(0, 3));
    response.end(body.slice(3));
  });
  server.on('connection', () => connections++);
  const connection = await openConnection(t, await addressOf(t, server));
  for (const form of ['length', 'chunked'])
    for (const [place, body] of bodies.entries()) {
      const { status, body: received } = await connection.send(
        `GET /${form}/${place} HTTP/1.1\r\nhost: test\r\n\r\n`,
        undefined,
        { keep },
      );
      t.equal(status, 200);
      t.equal(received.toString(), body, `${form} ${body.length}`);
    }
  t.equal(connections, 1);
});

t.test('answers without a body: 204, 304 and HEAD', async (t) => {
  const statuses = [204, 304, 200, 200];
  const connection = await openTo(t, (request, response) => {
    response.statusCode = statuses.shift() as number;
    if (request.method === 'HEAD') response.setHeader('content-length', 5000);
    response.end();
  });
  t.equal((await connection.send(head())).status, 204);
  t.equal((await connection.send(head())).status, 304);
  const answer = await connection.send(Buffer.from(head('HEAD')), undefined, { keep });
  t.match(answer.head, /content-length: 5000/i);
  t.equal(answer.body.length, 0);
  t.equal((await connection.send(head())).status, 200, 'the next answer is not mistaken for its body');
});

t.test('every byte of an answer may come alone', async (t) => {
  const answer =
    'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n' +
    '3;name=value\r\nabc\r\nA\r\n0123456789\r\n0\r\ntrailer: x\r\n\r\n';
  const connection = await openRaw(t, async (socket) => {
    for (const byte of answer) {
      socket.write(byte);
      await new Promise(setImmediate);
    }
  });
  const { status, body } = await connection.send(head(), undefined, { keep });
  t.equal(status, 200);
  t.equal(body.toString(), 'abc0123456789');
  t.equal((await connection.send(head(), undefined, { keep })).body.toString(), 'abc0123456789');
});

t.test('only the beginning of a body is kept, and all of it is seen', async (t) => {
  const connection = await openTo(t, (_, response) => response.end('0123456789'.repeat(1000)));
  let seen = 0;
  const onBody = (bytes: Buffer): void => {
    seen += bytes.byteLength;
  };
  const { body, bytes } = await connection.send(head(), undefined, { keep: 12, onBody });
  t.equal(body.toString(), '012345678901');
  t.equal(seen, 10_000);
  t.ok(bytes > 10_000, 'the head counts');
});

t.test('a body of many slices arrives whole', async (t) => {
  const slices = Array.from({ length: 200 }, (_, at) => Buffer.alloc(10_000, 97 + (at % 26)));
  const connection = await openTo(t, async (request, response) => {
    response.end(`${(await text(request)).length}`);
  });
  const length = slices.length * 10_000;
  const fields = `content-length: ${length}\r\n`;
  const answer = await connection.send(head('PUT', fields), slices, { keep });
  t.equal(answer.body.toString(), `${length}`);
  t.equal((await connection.send(head(), undefined, { keep })).body.toString(), '0');
});

t.test(
  'an answer before the end of the body: the rest is not sent, and the connection is closed',
  async (t) => {
    let taken = 0;
    const slice = Buffer.alloc(64 * 1024);
    const slices = (function* () {
      for (; taken < 10_000; taken++) yield slice;
    })();
    const connection = await openTo(t, (_, response) => {
      response.writeHead(413, { 'content-length': 0 });
      response.end();
    });
    const { status } = await connection.send(
      head('PUT', `content-length: ${10_000 * slice.length}\r\n`),
      slices,
    );
    t.equal(status, 413);
    t.ok(taken < 10_000);
    t.ok(connection.closed);
  },
);

t.test('a body may come over time, and the answer before its end', async (t) => {
  async function* slices(): AsyncGenerator<Buffer> {
    for (const part of ['over', ' ', 'time']) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      yield Buffer.from(part);
    }
  }
  async function* endless(): AsyncGenerator<Buffer> {
    yield Buffer.from('over');
    await new Promise(() => {});
  }
  const connection = await openTo(t, async (request, response) => {
    if (request.headers['content-length'] === '100') response.writeHead(413).end('too much');
    else response.end(await text(request));
  });
  const answer = await connection.send(head('PUT', 'content-length: 9\r\n'), slices(), { keep });
  t.equal(answer.body.toString(), 'over time');
  t.notOk(connection.closed);
  t.equal((await connection.send(head('PUT', 'content-length: 100\r\n'), endless())).status, 413);
  t.ok(connection.closed, 'where a body ended nobody knows');
});

t.test('a connection that the server closes', async (t) => {
  const afterAnswer = await openTo(t, (_, response) => response.setHeader('connection', 'close').end('last'));
  t.equal((await afterAnswer.send(head(), undefined, { keep })).body.toString(), 'last');
  t.ok(afterAnswer.closed);
  await t.rejects(afterAnswer.send(head()), { code: 'ECONNRESET' });

  const withoutLength = await openRaw(t, (socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nto the end'));
  t.equal((await withoutLength.send(head(), undefined, { keep })).body.toString(), 'to the end');
  t.ok(withoutLength.closed);

  const inBody = await openRaw(t, (socket) =>
    socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf'),
  );
  await t.rejects(inBody.send(head()), { code: 'ECONNRESET' });

  const before = await openRaw(t, (socket) => socket.destroy());
  await t.rejects(before.send(head()), { code: 'ECONNRESET' });
});

t.test('a body without a length is not whole when the request is given up', async (t) => {
  const connection = await openRaw(t, (socket) => socket.write('HTTP/1.1 200 OK\r\n\r\nhalf'));
  const controller = new AbortController();
  const onBody = (): void => controller.abort(new Error('enough'));
  await t.rejects(connection.send(head(), undefined, { onBody, signal: controller.signal }), {
    message: 'enough',
  });
});

t.test('what is no answer', async (t) => {
  const noHttp = await openRaw(t, (socket) => socket.write('SSH-2.0-server\r\n\r\n'));
  await t.rejects(noHttp.send(head()), { message: 'the answer is not HTTP/1.1' });
  const badChunk = await openRaw(t, (socket) =>
    socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n'),
  );
  await t.rejects(badChunk.send(head()), { message: 'a chunk of the answer has no size' });
});

t.test('a signal gives up: while connecting, before the answer, and while sending', async (t) => {
  const reason = new Error('enough');
  const silent = await addressOf(
    t,
    createServer((socket) => socket.pause()),
  );
  await t.rejects(Connection.open(silent, AbortSignal.abort(reason)), { message: 'enough' });

  for (const body of [
    undefined,
    Buffer.alloc(100),
    Array.from({ length: 500 }, () => Buffer.alloc(65_536)),
  ]) {
    const connection = await openConnection(t, silent);
    const controller = new AbortController();
    const answer = connection.send(head('PUT', 'content-length: 99999999\r\n'), body, {
      signal: controller.signal,
    });
    setTimeout(() => controller.abort(reason), 20);
    await t.rejects(answer, { message: 'enough' });
    t.ok(connection.closed);
  }
  const aborted = await openConnection(t, silent);
  await t.rejects(aborted.send(head(), undefined, { signal: AbortSignal.abort(reason) }), {
    message: 'enough',
  });
});

t.test('a pool sends requests side by side, and uses its connections again', async (t) => {
  let connections = 0;
  const server = createHttpServer((_, response) => setTimeout(() => response.end('right'), 20));
  server.on('connection', () => connections++);
  const pool = new ConnectionPool(await addressOf(t, server));
  t.teardown(() => pool.close());
  for (let round = 0; round < 3; round++) {
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => pool.send(head(), undefined, { keep })),
    );
    t.ok(answers.every(({ body }) => body.toString() === 'right'));
  }
  t.equal(connections, 5);
  t.equal(pool.size, 5);
  server.closeAllConnections();
  await new Promise((resolve) => setTimeout(resolve, 50));
  t.equal((await pool.send(head())).status, 200, 'a closed connection is not taken');
});

t.test('a server that is not there', async (t) => {
  await t.rejects(Connection.open('http://127.0.0.1:1'), { code: 'ECONNREFUSED' });
});

t.test('a pool opens a bounded number of connections at the same time', async (t) => {
  // accepts, and never answers a TLS handshake
  const server = createServer();
  let connections = 0;
  const enough = new Promise<void>((resolve) => {
    server.on('connection', () => {
      if (++connections === 64) resolve();
    });
  });
  const pool = new ConnectionPool((await addressOf(t, server)).replace('http:', 'https:'));
  t.teardown(() => pool.close());
  const controller = new AbortController();
  const options = { keep, signal: controller.signal };
  const answers = Array.from({ length: 200 }, () => pool.send(head(), undefined, options));
  const settled = Promise.allSettled(answers);
  await enough;
  await new Promise((resolve) => setTimeout(resolve, 100));
  t.equal(connections, 64);
  controller.abort(new Error('enough'));
  const reasons = (await settled).map((one) => (one.status === 'rejected' ? one.reason.message : 'answered'));
  t.strictSame([...new Set(reasons)], ['enough'], 'each request ends with its own signal');
});
