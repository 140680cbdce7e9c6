/**
 * A server that costs next to nothing: every request without a body gets the same 130 bytes. With a second argument it stops
 * for so many milliseconds in each ten seconds, as a garbage collection, a checkpoint or a disk does.
 */
import { createServer } from 'node:net';

const pause = Number(process.argv[2] ?? 0);
const period = 10_000;

const body = '{"id":"0192a1b2-0000-7000-8000-000000000000","name":"Ada","age":36}';
const answer = Buffer.from(
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
);

const server = createServer((socket) => {
  let open = '';
  socket.setNoDelay(true);
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk) => {
    // a head in one piece, as nearly all are, costs no copy
    if (open === '' && chunk.indexOf('\r\n\r\n') === chunk.byteLength - 4) {
      socket.write(answer);
      return;
    }
    const heads = (open + chunk.toString('latin1')).split('\r\n\r\n');
    open = heads.pop() as string;
    for (const _ of heads) socket.write(answer);
  });
});
// while it stops, the kernel takes the connections of a second: otherwise some would come a second later
server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () => {
  const address = server.address();
  process.stdout.write(`listening on ${typeof address === 'object' ? address?.port : ''}\n`);
});
if (pause > 0) {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  // halfway, so that a run of whole periods has whole pauses
  const stop = (): void => void Atomics.wait(cell, 0, 0, pause);
  setTimeout(() => {
    stop();
    setInterval(stop, period);
  }, period / 2);
}
