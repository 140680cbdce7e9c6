import t from 'tap';
import { createRawClient } from '../services/raw-client.ts';
import { serveRoutes } from '../services/serve-routes.ts';

/** RFC 9110 section 8.6: no Content-Length in a 204, and in a 304 only that of what would be sent. */
for (const stopping of [false, true]) {
  t.test(`answers without a body have no length${stopping ? ' while the server stops' : ''}`, async (t) => {
    const { server, baseUrl } = await serveRoutes(t, [
      { method: 'GET', path: '/same', handler: () => ({ status: 304, headers: { etag: '"1"' } }) },
    ]);
    const client = createRawClient(baseUrl);
    t.teardown(() => client.close());
    if (stopping) server.announceStop();
    for (const [method, status] of [
      ['GET', 304],
      ['OPTIONS', 204],
    ] as const) {
      const bytes = Buffer.from(`${method} /same HTTP/1.1\r\nhost: t\r\n\r\n`);
      const answer = await client.request(bytes, 10_000);
      t.equal(answer.status, status);
      t.notOk(answer.headers.has('content-length'), `${answer.headers.get('content-length')}`);
      t.equal(answer.headers.get('connection'), stopping ? 'close' : undefined);
    }
  });
}
