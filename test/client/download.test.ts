/** Downloads of sluice-client, over connections that break; and lists, links and deletions of files. */
import { setTimeout } from 'node:timers/promises';
import t from 'tap';
import type { Client } from '#client/client.ts';
import { download } from '#client/download.ts';
import { deleteFile, deleteFiles, filesPage, link, listFiles, uploadLink } from '#client/files.ts';
import { upload } from '#client/upload.ts';
import { clientOf, cuttingProxy, sha256, sluiceWithDigests, someBytes } from '../services/client-files.ts';
import { full } from '../services/test-size.ts';

async function readAll(stream: ReadableStream<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const sluice = await sluiceWithDigests(t, { FILE_LINKS: 'private' });

t.test('lists, links and deletions', async (t) => {
  const client = clientOf(sluice);
  const names: string[] = [];
  for (let index = 0; index < 5; index++)
    names.push((await upload(client, `${index}`, { name: `ä ${index}.txt` })).name);
  await upload(client, new Blob(['x'], { type: 'image/png' }), { name: 'x.png' });

  const listed: string[] = [];
  const texts = { type: 'text/', order: 'asc', limit: 2 } as const;
  for await (const file of listFiles(client, texts)) listed.push(file.name);
  t.strictSame(listed, names);
  const page = await filesPage(client, { name: 'Ä', count: true, limit: 1 });
  t.match(page, { count: 5, files: [{ name: names[4] }], next: String });
  await t.rejects(filesPage(client, { limit: 1000 }), { code: 'invalid_condition' });

  const [first = '', second = '', third = ''] = names;
  t.equal((await fetch(`${sluice.baseUrl}/_f_/files/${first}`)).status, 401);
  const opened = await link(client, first, { expiresIn: 60 });
  t.equal(await (await fetch(opened.link)).text(), '0');
  t.ok(Date.parse(opened.expiresAt) > Date.now());
  await t.rejects(link(client, first, { expiresIn: 0 }), { code: 'invalid_body' });
  t.match(await uploadLink(client, { expiresIn: 60, times: 1 }), { form: String, put: String });

  await deleteFile(client, { name: first });
  await t.rejects(deleteFile(client, first), { code: 'not_found', status: 404 });
  t.match(await deleteFiles(client, [second, { name: third }, first]), {
    deleted: 2,
    failed: [{ name: first, code: 'not_found' }],
  });
});

t.test('downloads', async (t) => {
  const client = clientOf(sluice);
  const bytes = someBytes(10_000_000);
  const file = await upload(client, bytes, { name: 'film.mp4', type: 'video/mp4' });
  const empty = await upload(client, '', { name: 'empty.txt' });
  const small = await upload(client, 'hello', { name: 'small.txt' });

  t.test('whole, in part, empty', async (t) => {
    const { stream, size, type, etag } = await download(client, file);
    t.equal(sha256(await readAll(stream)), file.sha256);
    t.strictSame({ size, type }, { size: bytes.length, type: 'video/mp4' });
    t.equal((await readAll((await download(client, empty)).stream)).length, 0);
    t.equal((await readAll((await download(client, small.name)).stream)).toString(), 'hello');
    const rest = await download(client, file, { from: 9_000_000, etag });
    t.equal(rest.size, bytes.length);
    t.ok((await readAll(rest.stream)).equals(bytes.subarray(9_000_000)));
    await t.rejects(download(client, file, { from: 1, etag: '"another"' }), { code: 'file_changed' });
    await t.rejects(download(client, file, { from: bytes.length }), { code: 'range_not_satisfiable' });
    await t.rejects(download(client, 'none'), { code: 'not_found', status: 404 });
  });

  t.test('cut 20 times', { skip: !full }, async (t) => {
    const after = (id: number): number => 100_000 + id * 33_000;
    const proxy = await cuttingProxy(t, sluice, { cuts: 20, after, direction: 'toClient' });
    const { stream } = await download(clientOf(sluice, { url: proxy.url }), file);
    t.equal(sha256(await readAll(stream)), file.sha256);
    t.equal(proxy.cut(), 20);
  });

  t.test('cut, and then another file', async (t) => {
    const proxy = await cuttingProxy(t, sluice, { cuts: 1, after: () => 1_000_000, direction: 'toClient' });
    let asked = 0;
    const other: typeof fetch = async (input, init) => {
      const answer = await fetch(input, init);
      if (asked++ === 0) return answer;
      const headers = new Headers(answer.headers);
      headers.set('etag', '"another"');
      return new Response(answer.body, { status: answer.status, headers });
    };
    const { stream } = await download(clientOf(sluice, { url: proxy.url, fetch: other }), file);
    await t.rejects(readAll(stream), { code: 'file_changed' });
  });

  t.test('a download that is stopped, or that nobody reads any more', { skip: !full }, async (t) => {
    const proxy = await cuttingProxy(t, sluice, { cuts: 0, after: () => 0 });
    const client = clientOf(sluice, { url: proxy.url });
    // more than what lies on the way
    const { name } = await upload(client, someBytes(20_000_000));
    const stop = new AbortController();
    const { stream } = await download(client, name, { signal: stop.signal });
    const reader = stream.getReader();
    await reader.read();
    stop.abort(new Error('stopped'));
    await t.rejects(
      async () => {
        while (!(await reader.read()).done);
      },
      { message: 'stopped' },
    );

    const left = await download(client, name);
    await left.stream.cancel();
    await setTimeout(100);
    t.ok(proxy.forwarded('toClient') < 20_000_000);
  });

  t.test('cut, and then gone, or away', { skip: !full }, async (t) => {
    for (const [change, expected] of [
      [(client: Client, name: string) => deleteFile(client, name), { code: 'not_found' }],
      [() => sluice.kill(), { code: 'no_answer' }],
    ] as const) {
      const { name } = await upload(client, bytes);
      const proxy = await cuttingProxy(t, sluice, {
        cuts: 1,
        after: () => 1_000_000,
        direction: 'toClient',
      });
      const { stream } = await download(clientOf(sluice, { url: proxy.url, retries: 1 }), name);
      await change(client, name);
      await t.rejects(readAll(stream), expected);
    }
  });
});
