import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { startTcpProxy, type TcpProxy, type TcpProxyOptions } from '../services/tcp-proxy.ts';
import { TokenBucket } from '../services/token-bucket.ts';

interface Peer {
  readonly socket: Socket;
  /** Bytes received so far. */
  received(): Buffer;
  /** Resolves once so many bytes are there. */
  until(bytes: number): Promise<Buffer>;
  /** Resolves with how the other side ended. */
  readonly ended: Promise<'fin' | 'rst'>;
}

function peer(socket: Socket): Peer {
  let all = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    all = Buffer.concat([all, chunk]);
    socket.emit('more');
  });
  const ended = new Promise<'fin' | 'rst'>((resolve) => {
    socket.on('end', () => resolve('fin'));
    socket.on('error', () => resolve('rst'));
  });
  return {
    socket,
    received: () => all,
    async until(bytes) {
      while (all.length < bytes) await once(socket, 'more');
      return all;
    },
    ended,
  };
}

/** A server and a client on the two sides of a proxy, with one connection open. */
async function setUp(t: Test, options: Omit<TcpProxyOptions, 'target'> = {}) {
  const server = createServer({ allowHalfOpen: true });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const proxy = await startTcpProxy({ target: { host: '127.0.0.1', port }, ...options });
  const sockets: Socket[] = [];
  t.teardown(async () => {
    for (const socket of sockets) socket.destroy();
    await proxy.close();
    await new Promise((resolve) => server.close(resolve));
  });
  const open = async () => {
    const pair = await openPair(server, proxy);
    sockets.push(pair.client.socket, pair.target.socket);
    return pair;
  };
  return { proxy, open, ...(await open()) };
}

async function openPair(server: Server, proxy: TcpProxy): Promise<{ client: Peer; target: Peer }> {
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const socket = connect({ port: proxy.port, host: proxy.host, allowHalfOpen: true });
  const client = peer(socket);
  const [other] = await accepted;
  return { client, target: peer(other) };
}

const bytes = (length: number) => Buffer.from(Array.from({ length }, (_, index) => (index * 31) >> 4));

t.test('bytes go both ways, whole and in order', async (t) => {
  const { proxy, client, target } = await setUp(t);
  const up = bytes(3_000_000);
  const down = bytes(2_000_001);
  client.socket.write(up);
  target.socket.write(down);
  t.ok((await target.until(up.length)).equals(up));
  t.ok((await client.until(down.length)).equals(down));
  const [connection] = proxy.connections();
  t.equal(connection?.toTarget.forwarded, up.length);
  t.equal(connection?.toClient.forwarded, down.length);

  client.socket.end();
  t.equal(await target.ended, 'fin');
  target.socket.end('last words');
  t.equal(await client.ended, 'fin');
  t.equal(client.received().subarray(down.length).toString(), 'last words', 'half closed is not closed');
  await connection?.closed;
  t.strictSame(proxy.connections(), []);
});

t.test('a connection is cut after so many bytes, to the byte', async (t) => {
  for (const cutKind of ['fin', 'rst'] as const) {
    for (const cutAfterBytes of [0, 1, 100_000]) {
      const { client, target, proxy } = await setUp(t, { toTarget: { cutAfterBytes, cutKind } });
      client.socket.write(bytes(300_000));
      const ends = await Promise.all([client.ended, target.ended]);
      const got = target.received().length;
      if (cutKind === 'fin') {
        t.equal(ends[1], 'fin');
        t.equal(got, cutAfterBytes);
      } else {
        // libuv takes a reset that comes right behind data for the end, and the kernel may drop the data
        t.equal(ends[0], 'rst');
        t.ok(got <= cutAfterBytes, `${got} of ${cutAfterBytes}`);
      }
      await Promise.all(proxy.connections().map(({ closed }) => closed));
    }
  }
});

t.test('a count on the way back cuts answers', async (t) => {
  const { client, target } = await setUp(t, { toClient: { cutAfterBytes: 5, cutKind: 'fin' } });
  target.socket.on('error', () => {});
  client.socket.write('a question of any length');
  await target.until(24);
  target.socket.write('an answer');
  t.equal(await client.ended, 'fin');
  t.equal(client.received().toString(), 'an an');
});

t.test('a connection is cut on demand', async (t) => {
  for (const kind of ['fin', 'rst'] as const) {
    const { client, target, proxy } = await setUp(t);
    client.socket.write('hello');
    await target.until(5);
    proxy.connections()[0]?.cut(kind);
    t.strictSame(await Promise.all([client.ended, target.ended]), [kind, kind]);
  }
});

t.test('a reset on one side is a reset on the other', async (t) => {
  const { client, target } = await setUp(t);
  client.socket.write('hello');
  await target.until(5);
  client.socket.resetAndDestroy();
  t.equal(await target.ended, 'rst');
});

t.test('a frozen direction holds everything back, and lets it go', async (t) => {
  const { client, target, proxy } = await setUp(t, { toTarget: { frozen: true } });
  const all = Buffer.alloc(20_000_000, 'more than the kernel takes');
  client.socket.write(all);
  target.socket.write('the other direction is free');
  await client.until(27);
  // what comes wrongly would come soon
  await new Promise((resolve) => setTimeout(resolve, 50));
  t.equal(target.received().length, 0);
  t.ok(client.socket.writableLength > 0, 'the sender is held back');
  proxy.set('toTarget', { frozen: false });
  t.ok((await target.until(all.length)).equals(all));
});

t.test('a rate holds bytes back until it is lifted', async (t) => {
  const { client, target, proxy } = await setUp(t, { toTarget: { bytesPerSecond: 1000 } });
  const all = bytes(2_000_000);
  client.socket.write(all);
  await target.until(300);
  t.ok(target.received().length < all.length / 2, 'at this rate it would take half an hour');
  proxy.set('toTarget', { bytesPerSecond: undefined });
  t.ok((await target.until(all.length)).equals(all));
});

t.test('a delay keeps bytes whole and in order', async (t) => {
  const { client, target, proxy } = await setUp(t, { toTarget: { delayMs: 30 } });
  const all = bytes(1_000_000);
  client.socket.write(all.subarray(0, 10));
  client.socket.end(all.subarray(10));
  t.equal(await target.ended, 'fin');
  t.ok(target.received().equals(all));
  t.equal(proxy.connections()[0]?.toTarget.forwarded, all.length);
});

t.test('each connection may have its own settings', async (t) => {
  const { client, target, open, proxy } = await setUp(t, {
    onConnection: ({ id, toTarget }) => toTarget.set({ frozen: id === 1 }),
  });
  client.socket.write('first');
  const second = await open();
  second.client.socket.write('second');
  await second.target.until(6);
  t.equal(target.received().length, 0);
  t.strictSame(
    proxy.connections().map(({ id }) => id),
    [1, 2],
  );
  proxy.connections()[0]?.toTarget.set({ frozen: false });
  await target.until(5);
});

t.test('closing the proxy resets what is open', async (t) => {
  const { client, target, proxy } = await setUp(t, { toTarget: { bytesPerSecond: 1 } });
  client.socket.write(bytes(100_000));
  await proxy.close();
  t.strictSame(await Promise.all([client.ended, target.ended]), ['rst', 'rst']);
  t.strictSame(proxy.connections(), []);
  const refused = connect(proxy.port, proxy.host);
  const [error] = (await once(refused, 'error')) as [NodeJS.ErrnoException];
  t.equal(error.code, 'ECONNREFUSED');
  // teardown closes it again
  proxy.close = async () => {};
});

t.test('a client of a target that is away is reset', async (t) => {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  const proxy = await startTcpProxy({ target: { host: '127.0.0.1', port } });
  const client = peer(connect(proxy.port, proxy.host));
  t.equal(await client.ended, 'rst');
  await proxy.close();
});

t.test('tokens come at the rate, and no more than a burst is saved up', async (t) => {
  const bucket = new TokenBucket(1000, 0);
  t.equal(bucket.take(1000, 0), 100, 'the burst');
  t.equal(bucket.take(1000, 0), 0);
  t.equal(bucket.wait(), 1);
  t.equal(bucket.take(1000, 1), 1);
  t.equal(bucket.take(3, 50), 3, 'no more than is wanted');
  t.equal(bucket.take(1000, 50), 46, 'and the rest is kept');
  t.equal(bucket.take(1000, 1_000_000), 100, 'up to the burst');
  t.equal(bucket.take(1000, 999_999), 0, 'a clock that goes back gives nothing');
  let taken = 0;
  for (let now = 1_000_000; now <= 1_010_000; now += 7) taken += bucket.take(1000, now);
  t.ok(Math.abs(taken - 10_000) <= 100, `${taken} in 10 s at 1000 a second`);
  const slow = new TokenBucket(0.5, 0);
  t.equal(slow.take(1, 0), 1);
  t.equal(slow.wait(), 2000);
  t.equal(slow.take(1, 1999), 0);
  t.equal(slow.take(1, 2000), 1);
});
