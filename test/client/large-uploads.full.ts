/** A large file by sluice-client, with cuts and a reload, in bounded memory. TEST_SIZE=full takes a gigabyte. */
import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import t from 'tap';
import { download } from '#client/download.ts';
import { uploadPath } from '#client/node.ts';
import { upload } from '#client/upload.ts';
import { clientOf, cuttingProxy, mapStorage, sluiceWithDigests } from '../services/client-files.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';
import { sized } from '../services/test-size.ts';

const size = sized(2 ** 30, 2 ** 28);
const cuts = sized(20, 10);
const mebibyte = 2 ** 20;

/** Writes a file of this size. @returns its digest */
async function writeLarge(path: string): Promise<string> {
  const hash = createHash('sha256');
  const file = await open(path, 'w');
  for (let at = 0; at < size; at += 16 * mebibyte) {
    const bytes = randomBytes(16 * mebibyte);
    hash.update(bytes);
    await file.write(bytes);
  }
  await file.close();
  return hash.digest('hex');
}

t.test('a large file, many cuts, one reload', { timeout: 600_000 }, async (t) => {
  const sluice = await sluiceWithDigests(t);
  const path = join(await temporaryFolder(t), 'film.mp4');
  const digest = await writeLarge(path);
  const proxy = await cuttingProxy(t, sluice, { cuts, after: (id) => (10 + 2 * id) * mebibyte });
  const client = clientOf(sluice, { url: proxy.url });
  // the question which way to take has a connection of its own
  const options = { storage: mapStorage(), direct: false };
  const before = process.memoryUsage().rss;
  let most = 0;
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss);
  }, 20);
  t.teardown(() => clearInterval(timer));
  const begun = performance.now();
  const stop = new AbortController();
  const onProgress = ({ sent }: { sent: number }) => sent > size / 2 && stop.abort(new Error('reload'));
  await t.rejects(uploadPath(client, path, { ...options, signal: stop.signal, onProgress }), {
    message: 'reload',
  });
  const file = await uploadPath(client, path, options);
  const seconds = (performance.now() - begun) / 1000;
  t.equal(file.sha256, digest);
  t.equal(proxy.cut(), cuts);
  const times = proxy.forwarded('toTarget') / size;
  t.ok(times < 1.3);
  t.ok(most - before < 200 * mebibyte);
  t.comment(
    `${seconds.toFixed(1)} s, ${times.toFixed(3)} times the bytes, ${(most - before) / mebibyte} MiB`,
  );

  most = 0;
  const back = await cuttingProxy(t, sluice, {
    cuts,
    after: (id) => (10 + 2 * id) * mebibyte,
    direction: 'toClient',
  });
  const downloaded = performance.now();
  const { stream } = await download(clientOf(sluice, { url: back.url }), file);
  const hash = createHash('sha256');
  for await (const chunk of stream) hash.update(chunk);
  t.equal(hash.digest('hex'), digest);
  t.ok(back.cut() >= cuts / 2);
  t.ok(most - before < 200 * mebibyte);
  t.comment(`down in ${((performance.now() - downloaded) / 1000).toFixed(1)} s, ${back.cut()} cuts`);

  most = 0;
  const bytes = Readable.toWeb(createReadStream(path)) as ReadableStream<Uint8Array>;
  const streamed = await upload(clientOf(sluice), bytes, { name: 'stream.bin' });
  t.equal(streamed.sha256, digest);
  t.ok(most - before < 250 * mebibyte);
  t.comment(`a stream: ${(most - before) / mebibyte} MiB`);
});
