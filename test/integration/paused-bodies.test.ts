import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import t from 'tap';
import { serveRoutes } from '../services/serve-routes.ts';

/** Sends a body from another process, as fast as the socket takes it: a client in this one would wait for its server. */
const sender = `
  const [port, size] = process.argv.slice(1).map(Number);
  const socket = require('node:net').connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write('POST /slow HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: ' + size + '\\r\\n\\r\\n');
  const chunk = Buffer.alloc(1 << 20);
  let left = size / chunk.length;
  const send = () => { while (left-- > 0 && socket.write(chunk)); };
  socket.on('drain', send).on('data', () => process.exit());
  send();
`;
const receiveBuffer = 512 * 1024;

/** Whether the native read loop can go on after a pause; see docs/decisions/058. */
function readsOn(): boolean {
  if (process.platform !== 'linux' || Number(process.versions.modules) < 127) return false;
  const most = readFileSync('/proc/sys/net/ipv4/tcp_rmem', 'utf8').trim().split(/\s+/)[2];
  return Number(most) > receiveBuffer;
}

t.test(
  'a client faster than the store waits: little is held of what comes after a pause',
  { skip: readsOn() && 'net.ipv4.tcp_rmem is larger here than docs/operations.md recommends' },
  async (t) => {
    const size = 64 * 1024 * 1024;
    const held: number[] = [];
    let received = 0;
    const { server } = await serveRoutes(t, [
      {
        method: 'POST',
        path: '/slow',
        transfersBytes: true,
        handler: ({ body }) =>
          new Promise((resolve, reject) => {
            body.consume({
              write(chunk) {
                received += chunk.byteLength;
                const before = process.memoryUsage().arrayBuffers;
                setTimeout(() => {
                  held.push(process.memoryUsage().arrayBuffers - before);
                  body.resume();
                }, 2);
                return false;
              },
              end: () => resolve({ status: 200 }),
              fail: reject,
            });
          }),
      },
    ]);
    const child = spawn(process.execPath, ['-e', sender, String(server.port), String(size)], {
      stdio: 'inherit',
    });
    t.teardown(() => child.kill());
    await once(child, 'exit');
    t.equal(received, size);
    t.ok(Math.max(...held) < 4 * receiveBuffer, `${Math.max(...held)} bytes`);
  },
);
