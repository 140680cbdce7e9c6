/**
 * uWebSockets.js cuts a connection that moves less than 16 KB/s for 10 s, without an answer. Ours must not be cut:
 * each client here is slower than that for longer than that.
 */
import t from 'tap';
import { connectRaw } from '../services/raw-http.ts';
import { countRoute, serveRoutes } from '../services/serve-routes.ts';

const seconds = 14;
const bytes = Buffer.alloc(64 * 1024, 65);

const { baseUrl } = await serveRoutes(t, [
  countRoute,
  {
    method: 'GET',
    path: '/stream',
    transfersBytes: true,
    handler: () => ({
      status: 200,
      body: {
        chunks: (async function* () {
          for (let i = 0; i < 200; i++) yield bytes;
        })(),
      },
    }),
  },
  {
    method: 'GET',
    path: '/file',
    transfersBytes: true,
    handler: () => ({
      status: 200,
      body: {
        length: 200 * bytes.length,
        chunks: (async function* () {
          for (let i = 0; i < 200; i++) yield bytes;
        })(),
      },
    }),
  },
  {
    method: 'GET',
    path: '/think',
    handler: () =>
      new Promise((resolve) => setTimeout(() => resolve({ status: 200, body: 'thought' }), seconds * 1000)),
  },
]);
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function sendSlowly(perSecond: number, stall: boolean): Promise<string> {
  const total = perSecond * seconds;
  const raw = connectRaw(baseUrl);
  raw.send(`POST /count HTTP/1.1\r\nHost: x\r\nContent-Length: ${total}\r\n\r\n`);
  if (stall) await sleep(seconds * 1000);
  for (let sent = 0; sent < total; sent += perSecond) {
    raw.send(Buffer.alloc(perSecond, 65));
    if (!stall) await sleep(1000);
  }
  const answer = await raw.until(/size=\d+/);
  raw.socket.destroy();
  return `${/size=\d+/.exec(answer)?.[0]} of ${total}`;
}

async function readSlowly(path: string): Promise<number> {
  const raw = connectRaw(baseUrl);
  raw.send(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  await raw.until(/200 OK/);
  raw.socket.pause();
  await sleep(seconds * 1000);
  raw.socket.resume();
  const whole = path === '/file' ? 200 * bytes.length : 200 * bytes.length;
  while ((raw.received().match(/A/g)?.length ?? 0) < whole && !raw.socket.closed) await sleep(100);
  const received = raw.received().match(/A/g)?.length ?? 0;
  raw.socket.destroy();
  return received;
}

t.test(
  'slow senders, stalled ones, slow readers and slow handlers all finish',
  { timeout: 300_000 },
  async (t) => {
    const [slow, slower, stalled, stream, file, thought] = await Promise.all([
      sendSlowly(4000, false),
      sendSlowly(100, false),
      sendSlowly(4000, true),
      readSlowly('/stream'),
      readSlowly('/file'),
      fetch(`${baseUrl}/think`).then((response) => response.text()),
    ]);
    t.equal(slow, `size=${4000 * seconds} of ${4000 * seconds}`);
    t.equal(slower, `size=${100 * seconds} of ${100 * seconds}`);
    t.equal(stalled, `size=${4000 * seconds} of ${4000 * seconds}`);
    // the head of the streamed answer holds no capital A, chunk sizes do
    t.ok(stream >= 200 * bytes.length);
    t.equal(file, 200 * bytes.length);
    t.equal(thought, 'thought');
  },
);
