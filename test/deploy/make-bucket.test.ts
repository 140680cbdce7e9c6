/** The rule that has SeaweedFS sync what it stores, which is sent before anything can be stored. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { makeBucket } from '../../deploy/compose/init/make-bucket.ts';

t.test('the rule goes first, and without it there is no bucket', async (t) => {
  const seen: { method: string | undefined; url: string | undefined; body: string }[] = [];
  let filerStatus = 500;
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      seen.push({ method: request.method, url: request.url?.split('?')[0], body });
      response.writeHead(request.url?.startsWith('/etc/') ? filerStatus : 200).end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const settings = {
    endpoint: address,
    region: 'us-east-1',
    bucket: 'files',
    filerUrl: address,
    credentials: { accessKeyId: 'key', secretAccessKey: 'secret' },
  };

  await t.rejects(makeBucket(settings), /the filer answered 500/);
  t.equal(seen.length, 1);
  filerStatus = 201;
  await makeBucket(settings);
  t.match(
    seen.slice(1).map(({ method, url }) => `${method} ${url}`),
    ['POST /etc/seaweedfs/filer.conf', /^PUT \/files/, /^HEAD \/files/],
  );
  t.match(seen[1]?.body, '{"locations":[{"locationPrefix":"/buckets/","fsync":true}]}');
});
