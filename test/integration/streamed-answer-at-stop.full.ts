/** An answer without a length that ended while the server drained had `Connection: close` in the middle of its chunks. */
import { request } from 'node:http';
import t from 'tap';
import { serveRoutes } from '../services/serve-routes.ts';

t.test('an answer that is streamed while the server stops arrives whole', async (t) => {
  let inside: () => void = () => {};
  const begun = new Promise<void>((resolve) => {
    inside = resolve;
  });
  let release: () => void = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  async function* chunks() {
    yield Buffer.from('first ');
    yield Buffer.from('second');
  }
  const { server } = await serveRoutes(t, [
    {
      method: 'GET',
      path: '/stream',
      async handler() {
        inside();
        await released;
        return { status: 200, body: { chunks: chunks() } };
      },
    },
  ]);
  const answer = new Promise<[string | undefined, string]>((resolve, reject) => {
    const outgoing = request({ port: server.port, path: '/stream' }, (incoming) => {
      let text = '';
      incoming.on('data', (chunk: Buffer) => {
        text += chunk.toString();
      });
      incoming.on('error', reject);
      incoming.on('end', () => resolve([incoming.headers.connection, text]));
    });
    outgoing.on('error', reject);
    outgoing.end();
  });
  await begun;
  const closed = server.close(30_000);
  release();
  t.strictSame(await answer, ['close', 'first second']);
  await closed;
});
