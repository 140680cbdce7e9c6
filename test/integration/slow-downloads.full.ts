/** Each download holds a file or a socket of the store: who takes nothing must not keep others from theirs. */

import { once } from 'node:events';
import { connect } from 'node:net';
import t from 'tap';
import { noneClosed } from '#catalogue/closed-accounts.ts';
import { downloadOperation } from '#gateway/operations/download.ts';
import { ReaderSlots } from '#kernel/limits/reader-slots.ts';
import { createFileSystemStore } from '#objects/file-system/file-system-store.ts';
import { noPictures } from '../services/pictures.ts';
import { noSmallFiles } from '../services/plenty-of-slots.ts';
import { serveRoutes } from '../services/serve-routes.ts';
import { storeObject } from '../services/store-object.ts';

const name = '0b8f0a52-5a0e-4d53-9d6c-0f4d0d8d9f11_a.bin';
const content = Buffer.alloc(48 * 1024 * 1024, 'x');

t.test('a download that nobody reads gives way to one that waits', async (t) => {
  const store = await createFileSystemStore({ root: t.testdir() });
  await storeObject(store, 'owner/demo/a', content);
  const clock = { now: 0 };
  const downloads = new ReaderSlots({
    limit: 2,
    queueLimit: 10,
    full: 'too many downloads are under way',
    lendsAll: true,
    minRate: 8192,
    ratePeriod: 10_000,
    waitLimit: 60_000,
    now: () => clock.now,
  });
  const file = {
    id: '0b8f0a52-5a0e-4d53-9d6c-0f4d0d8d9f11',
    name,
    originalName: 'a.bin',
    ownerId: 'owner',
    projectSlug: 'demo',
    objectKey: 'owner/demo/a',
    contentType: 'application/octet-stream',
    size: content.byteLength,
    crc32: 0,
    createdAt: new Date(),
    updatedAt: new Date(),
  };
  const handler = downloadOperation({
    authenticate: async () => ({ userId: 'owner', tokenId: 't' }),
    cloudFiles: { findAny: async () => file },
    store,
    downloads,
    smallFiles: noSmallFiles(),
    pictures: noPictures,
    redirects: null,
    links: { isGood: async () => false },
    closed: noneClosed,
    fileLinks: 'public',
  });
  t.teardown(async () => {
    downloads.close();
    await store.close();
  });
  const { server, baseUrl } = await serveRoutes(t, [
    { method: 'GET', path: '/_f_/:project/:name', handler, transfersBytes: true },
  ]);
  const address = `${baseUrl}/_f_/demo/${name}`;
  const stalled = [1, 2].map(() => connect(server.port, '127.0.0.1'));
  for (const socket of stalled) {
    socket.write(`GET /_f_/demo/${name} HTTP/1.1\r\nHost: a\r\n\r\n`);
    await once(socket, 'readable');
  }
  const waiting = fetch(address);
  while (downloads.waiting === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  // what the sockets took at once counts for the first period
  for (const now of [10_000, 20_000]) {
    clock.now = now;
    downloads.watch();
  }
  const answer = await waiting;
  t.equal(answer.status, 200);
  t.equal((await answer.arrayBuffer()).byteLength, content.byteLength);
  const whole = stalled.map(async (socket) => {
    let bytes = 0;
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.byteLength;
      if (bytes >= content.byteLength) socket.end();
    });
    await once(socket, 'close');
    return bytes >= content.byteLength;
  });
  t.strictSame(
    (await Promise.all(whole)).sort(),
    [false, true],
    'one was cut off, and the other not, because nobody waited any more',
  );
});
