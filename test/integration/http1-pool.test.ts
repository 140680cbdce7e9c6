import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { Attempt } from '../../common/limits/deadline.ts';
import { Http1Pool } from '../../common/object-store/s3/http1/http1-pool.ts';
import { rejectionOf } from '../services/rejection-of.ts';

const limits = () => ({ quiet: 10_000, attempt: new Attempt() });
const request = (size = 0) => ({
  head: `PUT /x HTTP/1.1\r\nhost: h\r\ncontent-length: ${size}\r\n\r\n`,
  chunks: size === 0 ? [] : [Buffer.alloc(size >> 1, 'a'), Buffer.alloc(size - (size >> 1), 'b')],
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
  options: { limit?: number } = {},
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
  const pool = new Http1Pool({
    base: new URL(`http://127.0.0.1:${port}`),
    limit: options.limit ?? 8,
    connectTimeout: 5000,
  });
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
    t.match(await pool.exchange(request(size), limits()), { status: 200, keepAlive: true });
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
  const pool = new Http1Pool({ base: new URL(`http://127.0.0.1:${port}`), limit: 1, connectTimeout: 5000 });
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
