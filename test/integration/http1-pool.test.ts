import { readFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createServer as createTlsServer } from 'node:tls';
import t, { type Test } from 'tap';
import { Http1Pool, type Http1PoolOptions } from '#kernel/http-client/http1-pool.ts';
import { Attempt } from '#kernel/limits/deadline.ts';
import { certificateFor } from '../services/certificate.ts';
import { rejectionOf } from '../services/rejection-of.ts';

const limits = () => ({ quiet: 10_000, attempt: new Attempt() });
const request = (size = 0) => ({
  head: `PUT /x HTTP/1.1\r\nhost: h\r\ncontent-length: ${size}\r\n\r\n`,
  chunks: size === 0 ? [] : [Buffer.alloc(size >> 1, 'a'), Buffer.alloc(size - (size >> 1), 'b')],
});
const poolOf = (port: number, options: Partial<Http1PoolOptions> = {}) =>
  new Http1Pool({
    base: new URL(`http://127.0.0.1:${port}`),
    name: 'the server',
    limit: 8,
    connectTimeout: 5000,
    idleLimit: 10_000,
    maxAnswer: 64 * 1024,
    ...options,
  });
const ok = 'HTTP/1.1 200 OK\r\netag: "e"\r\ncontent-length: 0\r\n\r\n';

interface Peer {
  readonly pool: Http1Pool;
  /** Connections so far. */
  readonly sockets: Socket[];
  readonly open: () => number;
}

/** A pool before a server that does what the test says with each connection. */
async function startPeer(
  t: Test,
  onConnection: (socket: Socket) => void,
  options: Partial<Http1PoolOptions> = {},
): Promise<Peer> {
  const sockets: Socket[] = [];
  const server: Server = createServer({ noDelay: true }, (socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    onConnection(socket);
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  const pool = poolOf(port, options);
  t.teardown(() => {
    pool.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { pool, sockets, open: () => sockets.filter(({ destroyed }) => !destroyed).length };
}

/** Answers each request of a known length once it is whole. */
function answering(size: number, answer: string | ((n: number) => string)): (socket: Socket) => void {
  const { head } = request(size);
  return (socket) => {
    let bytes = 0;
    let requests = 0;
    socket.on('data', (chunk) => {
      bytes += chunk.byteLength;
      while (bytes >= head.length + size) {
        bytes -= head.length + size;
        socket.write(typeof answer === 'string' ? answer : answer(requests++));
      }
    });
  };
}

/** Reads, so that it sees a connection close, and answers nothing. */
const silent = (socket: Socket): void => {
  socket.resume();
};

t.test('a connection is used again, and its bytes arrive as they were', async (t) => {
  let received = Buffer.alloc(0);
  const size = 200_001;
  const { pool, sockets } = await startPeer(t, (socket) => {
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
    });
    answering(size, ok)(socket);
  });
  for (let i = 0; i < 5; i++) {
    t.match(await pool.exchange(request(size), limits()), { status: 200 });
  }
  t.equal(sockets.length, 1);
  const { head, chunks } = request(size);
  const one = Buffer.concat([Buffer.from(head), ...chunks]);
  t.ok(received.equals(Buffer.concat([one, one, one, one, one])));
});

t.test('no more connections than allowed, and all come to their turn', async (t) => {
  const { pool, sockets } = await startPeer(t, answering(10, ok), { limit: 3 });
  const answers = await Promise.all(Array.from({ length: 50 }, () => pool.exchange(request(10), limits())));
  t.equal(answers.length, 50);
  t.equal(sockets.length, 3);
});

t.test('a connection that the server closes is not used again', async (t) => {
  for (const answer of [
    'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n',
    'HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n',
    `${ok}surplus`,
  ]) {
    const { pool, sockets } = await startPeer(t, answering(10, answer));
    t.match(await pool.exchange(request(10), limits()), { status: 200 });
    t.match(await pool.exchange(request(10), limits()), { status: 200 });
    t.equal(sockets.length, 2, answer);
  }
  const closing = await startPeer(t, answering(10, ok));
  await closing.pool.exchange(request(10), limits());
  closing.sockets[0]?.end();
  while (closing.open() > 0) await sleep(1);
  await sleep(1);
  await closing.pool.exchange(request(10), limits());
  t.equal(closing.sockets.length, 2, 'closed while nobody used it');
});

t.test('an answer whose body ends with the connection', async (t) => {
  const { pool } = await startPeer(t, (socket) => {
    socket.once('data', () => socket.end('HTTP/1.1 503 Slow Down\r\n\r\n<Code>SlowDown</Code>'));
  });
  t.match(await pool.exchange(request(10), limits()), { status: 503, text: '<Code>SlowDown</Code>' });
});

t.test('an early answer ends the exchange, and nothing refers to the chunks', async (t) => {
  const { pool, open } = await startPeer(t, (socket) => {
    // the body stays unread
    socket.once('data', () => {
      socket.pause();
      socket.write('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n');
    });
  });
  t.match(await pool.exchange(request(64 * 1024 ** 2), limits()), { status: 403 });
  t.match(await pool.exchange(request(10), limits()), { status: 403 });
  t.ok(open() <= 2);
});

t.test('a connection that breaks is an error, and the next request has another', async (t) => {
  let broken = 0;
  const { pool } = await startPeer(t, (socket) => {
    if (broken++ < 3) {
      socket.once('data', () => {
        if (broken === 1) socket.destroy();
        else if (broken === 2) socket.resetAndDestroy();
        else socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nx');
      });
    } else answering(10, ok)(socket);
  });
  for (let i = 0; i < 3; i++) {
    t.match(await rejectionOf(pool.exchange(request(10), limits())), { code: 'ECONNRESET' });
  }
  t.match(await pool.exchange(request(10), limits()), { status: 200 });
});

t.test('what is no HTTP is an error that may be tried again', async (t) => {
  const { pool } = await startPeer(t, answering(10, 'SSH-2.0-OpenSSH\r\n\r\n'));
  t.match(await rejectionOf(pool.exchange(request(10), limits())), { code: /^HPE_/ });
});

t.test('a stop ends what waits, connects or is under way, with its reason', async (t) => {
  const { pool, sockets, open } = await startPeer(t, silent, { limit: 1 });
  const attempts = [new Attempt(), new Attempt(), new Attempt()] as const;
  const first = rejectionOf(pool.exchange(request(10), { quiet: 10_000, attempt: attempts[0] }));
  const second = rejectionOf(pool.exchange(request(10), { quiet: 10_000, attempt: attempts[1] }));
  while (sockets.length === 0) await sleep(1);
  attempts[1].stop(new Error('second'));
  t.match(await second, { message: 'second' });
  attempts[0].stop(new Error('first'));
  t.match(await first, { message: 'first' });
  while (open() > 0) await sleep(1);
  attempts[2].stop(new Error('before'));
  await t.rejects(pool.exchange(request(10), { quiet: 1, attempt: attempts[2] }), { message: 'before' });
  t.equal(sockets.length, 1);
});

t.test('a connection that is quiet for too long is given up', async (t) => {
  const { pool } = await startPeer(t, silent);
  await t.rejects(pool.exchange(request(10), { quiet: 20, attempt: new Attempt() }), {
    name: 'DeadlinePassed',
  });
});

t.test('a server that reads nothing can be given up, and the chunks are free then', async (t) => {
  const { pool, sockets, open } = await startPeer(t, (socket) => socket.pause());
  const size = 64 * 1024 ** 2;
  await t.rejects(pool.exchange(request(size), { quiet: 50, attempt: new Attempt() }), {
    name: 'DeadlinePassed',
  });
  const attempt = new Attempt();
  const settled = rejectionOf(pool.exchange(request(size), { quiet: 10_000, attempt }));
  while (sockets.length < 2) await sleep(1);
  await sleep(20);
  attempt.stop(new Error('stopped'));
  t.match(await settled, { message: 'stopped' });
  for (const socket of sockets) socket.resume();
  while (open() > 0) await sleep(1);
});

t.test('a server that can not be reached', async (t) => {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  const pool = poolOf(port, { limit: 1 });
  for (let i = 0; i < 3; i++) await t.rejects(pool.exchange(request(), limits()), { code: 'ECONNREFUSED' });
  pool.close();
  await t.rejects(pool.exchange(request(), limits()), { message: /closed/ });
});

t.test('closing the pool ends what is under way', async (t) => {
  const { pool, sockets, open } = await startPeer(t, silent);
  const settled = rejectionOf(pool.exchange(request(10), limits()));
  while (sockets.length === 0) await sleep(1);
  pool.close();
  t.match(await settled, { code: 'ECONNRESET' });
  while (open() > 0) await sleep(1);
});

const chunkedHead = 'HTTP/1.1 200 OK\r\nx: y\r\ntransfer-encoding: chunked\r\n\r\n';

async function textOf(chunks: AsyncIterable<Buffer>): Promise<string> {
  const all: Buffer[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all).toString();
}

t.test('an answer is there with its head, and is read as it comes', async (t) => {
  const { pool, sockets } = await startPeer(t, (socket) => {
    socket.on('data', () => socket.write(chunkedHead));
  });
  for (const texts of [['ab', 'cde'], []]) {
    const answer = await pool.stream(request(10), limits());
    t.equal(answer.status, 200);
    t.equal(answer.headers.get('x'), 'y');
    const read = textOf(answer);
    for (const text of texts) {
      sockets[0]?.write(`${text.length}\r\n${text}\r\n`);
      await sleep(5);
    }
    sockets[0]?.write('0\r\n\r\n');
    t.equal(await read, texts.join(''));
  }
  t.equal(sockets.length, 1, 'the connection is used again');
});

t.test('a reader that takes nothing holds up the server and nothing else', async (t) => {
  const size = 64 * 1024 ** 2;
  const { pool, sockets } = await startPeer(t, (socket) => {
    socket.once('data', () => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${size}\r\n\r\n`);
      socket.write(Buffer.alloc(size, 'x'));
    });
  });
  const before = process.memoryUsage().arrayBuffers;
  const answer = await pool.stream(request(10), limits());
  await sleep(200);
  // what the server wrote is in this process as well
  t.ok(process.memoryUsage().arrayBuffers - before < size + 16 * 1024 ** 2, 'memory is bounded');
  t.ok((sockets[0]?.writableLength ?? 0) > size / 2, 'the server waits');
  let received = 0;
  for await (const chunk of answer) received += chunk.byteLength;
  t.equal(received, size);
});

t.test('an answer that breaks off gives what came, and then the error', async (t) => {
  for (const breakOff of [
    (socket: Socket) => socket.end(),
    (socket: Socket) => socket.write('no size\r\n'),
  ]) {
    const { pool } = await startPeer(t, (socket) => {
      socket.once('data', () => {
        socket.write(`${chunkedHead}2\r\nab\r\n`);
        setTimeout(() => breakOff(socket), 20);
      });
    });
    const answer = await pool.stream(request(10), limits());
    await sleep(50);
    const iterator = answer[Symbol.asyncIterator]();
    t.equal((await iterator.next()).value?.toString(), 'ab');
    t.match(await rejectionOf(iterator.next()), { code: /ECONNRESET|HPE_/ });
  }
  const { pool } = await startPeer(t, (socket) => socket.once('data', () => socket.destroy()));
  t.match(await rejectionOf(pool.stream(request(10), limits())), { code: 'ECONNRESET' }, 'before its head');
});

t.test('an answer that is not wanted any more ends with its connection', async (t) => {
  const { pool, open } = await startPeer(t, (socket) => {
    socket.once('data', () => socket.write(`${chunkedHead}2\r\nab\r\n`));
  });
  const stopped = await pool.stream(request(10), limits());
  stopped.destroy(new Error('stopped'));
  t.match(await rejectionOf(textOf(stopped)), { message: 'stopped' });
  for await (const _ of await pool.stream(request(10), limits())) break;
  while (open() > 0) await sleep(1);
  const attempt = new Attempt();
  const answer = await pool.stream(request(10), { quiet: 0, attempt });
  const waiting = rejectionOf(textOf(answer));
  await sleep(20);
  attempt.stop(new Error('late'));
  t.match(await waiting, { message: 'late' });
  while (open() > 0) await sleep(1);
});

t.test('a connection is not used when the server may be about to close it', async (t) => {
  const keeps = (seconds: number) =>
    `HTTP/1.1 200 OK\r\nkeep-alive: timeout=${seconds}, max=99\r\ncontent-length: 0\r\n\r\n`;
  for (const [seconds, connections] of [
    [0, 2],
    [30, 1],
  ] as const) {
    const { pool, sockets } = await startPeer(t, answering(10, keeps(seconds)));
    await pool.exchange(request(10), limits());
    await sleep(10);
    await pool.exchange(request(10), limits());
    t.equal(sockets.length, connections, `kept for ${seconds} s`);
  }
});

t.test('a server with an authority of its own is trusted with its certificate alone', async (t) => {
  const { certFile, keyFile, ca } = await certificateFor(t);
  const server = createTlsServer({ cert: ca, key: await readFile(keyFile) }, (socket) => {
    socket.on('error', () => {});
    answering(10, ok)(socket);
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  const base = new URL(`https://127.0.0.1:${port}`);
  const trusting = poolOf(port, { base, ca: await readFile(certFile) });
  const strict = poolOf(port, { base });
  t.teardown(() => {
    trusting.close();
    strict.close();
    server.close();
  });
  for (let i = 0; i < 2; i++) t.match(await trusting.exchange(request(10), limits()), { status: 200 });
  // nothing was sent, as with a server that can't be reached
  t.match(await rejectionOf(strict.exchange(request(10), limits())), {
    code: 'DEPTH_ZERO_SELF_SIGNED_CERT',
    syscall: 'connect',
  });
});
