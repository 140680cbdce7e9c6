/** Uploads of sluice-client, over connections that break. */
import { File } from 'node:buffer';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import t from 'tap';
import { SluiceError } from '#client/client.ts';
import { filesPage, uploadLink } from '#client/files.ts';
import { uploadPath } from '#client/node.ts';
import { upload } from '#client/upload.ts';
import {
  clientOf,
  cuttingProxy,
  mapStorage,
  sha256,
  sluiceWithDigests,
  someBytes,
} from '../services/client-files.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';
import { full } from '../services/test-size.ts';

const mebibyte = 2 ** 20;
const sluice = await sluiceWithDigests(t);

t.test('small files, and their names and types', async (t) => {
  const client = clientOf(sluice);
  const text = await upload(client, 'hello', { name: 'größe/1.txt' });
  t.match(text, { originalName: 'größe/1.txt', contentType: 'text/plain', size: 5 });
  t.equal(text.sha256, sha256(Buffer.from('hello')));
  const file = new File(['{}'], 'a.bin', { type: 'application/json' });
  t.match(await upload(client, file), { originalName: 'a.bin', contentType: 'application/json', size: 2 });
  const bytes = someBytes(70_000);
  t.match(await upload(client, bytes.subarray(1)), {
    originalName: 'file',
    sha256: sha256(bytes.subarray(1)),
  });
  for (const name of ['empty.txt', 'upload', 'resumable', 'direct', 'options', '..', '_delete_'])
    t.match(await upload(client, new Blob([]), { name, type: 'text/plain' }), {
      originalName: name,
      size: 0,
    });
  const progress: unknown[] = [];
  await upload(client, 'abc', { onProgress: (step) => progress.push(step) });
  t.strictSame(progress, [
    { sent: 0, size: 3 },
    { sent: 3, size: 3 },
  ]);
  const again = { name: 'once.txt', key: 'one' };
  t.equal((await upload(client, 'x', again)).name, (await upload(client, 'x', again)).name);
});

t.test('a small file whose answers are lost is stored once', async (t) => {
  // with no byte of an answer a connection would be cut before its request
  const proxy = await cuttingProxy(t, sluice, { cuts: 2, after: () => 1, direction: 'toClient' });
  const bytes = someBytes(mebibyte);
  const file = await upload(clientOf(sluice, { url: proxy.url, project: 'lost' }), bytes, {
    name: 'lost.bin',
  });
  t.equal(file.sha256, sha256(bytes));
  const listed = await fetch(`${sluice.baseUrl}/_f_/lost?count=true`, {
    headers: { authorization: `Bearer ${sluice.token}` },
  });
  t.match(await listed.json(), { count: 1, files: [{ name: file.name }] });
});

t.test('6 MB, cut 12 times', { skip: !full }, async (t) => {
  const bytes = someBytes(6_000_000);
  for (const [partBytes, cuts, least] of [
    [mebibyte / 2, 12, mebibyte / 4],
    // none is as long as a part
    [2 * mebibyte, 6, (3 * mebibyte) / 4],
  ] as const) {
    const proxy = await cuttingProxy(t, sluice, { cuts, after: (id) => least + id * 25_000 });
    const progress: number[] = [];
    const file = await upload(clientOf(sluice, { url: proxy.url }), new File([bytes], 'cut.bin'), {
      partBytes,
      // the question which way to take has a connection of its own
      direct: false,
      onProgress: ({ sent, size }) => progress.push(sent, size ?? 0),
    });
    t.equal(file.sha256, sha256(bytes));
    t.equal(proxy.cut(), cuts);
    t.strictSame(progress.slice(-2), [bytes.length, bytes.length]);
    t.ok(progress.every((sent, index) => index < 2 || sent >= (progress[index - 2] as number)));
    t.comment(`${proxy.forwarded('toTarget') / bytes.length} times the bytes`);
  }
});

t.test('goes on after a stop, and after a reload', async (t) => {
  const proxy = await cuttingProxy(t, sluice, { cuts: 0, after: () => 0 });
  const client = clientOf(sluice, { url: proxy.url });
  const bytes = someBytes(5_000_000);
  const chosen = (): File => new File([bytes], 'film.mp4', { lastModified: 1 });
  const options = { storage: mapStorage(), partBytes: mebibyte / 2 };
  const stop = new AbortController();
  const stopped = upload(client, chosen(), {
    ...options,
    signal: stop.signal,
    onProgress: ({ sent }) => sent >= 2.5 * mebibyte && stop.abort(new Error('stopped')),
  });
  await t.rejects(stopped, { message: 'stopped' });
  t.equal(options.storage.kept.size, 1);
  const steps: number[] = [];
  const file = await upload(client, chosen(), { ...options, onProgress: ({ sent }) => steps.push(sent) });
  t.equal(file.sha256, sha256(bytes));
  t.equal(steps[0], 2.5 * mebibyte);
  t.equal(options.storage.kept.size, 0);
  t.ok(proxy.forwarded('toTarget') < bytes.length + 0.75 * mebibyte);

  await t.rejects(upload(client, chosen(), { ...options, signal: AbortSignal.abort(new Error('at once')) }));
  const other = new File([someBytes(5_000_000).reverse()], 'film.mp4', { lastModified: 2 });
  t.not((await upload(client, other, options)).sha256, file.sha256, 'another file of the same name');
});

t.test('two files that agree in name, size and time are two', async (t) => {
  const client = clientOf(sluice);
  const [one, other] = [someBytes(3_000_000), someBytes(3_000_000).reverse()];
  const chosen = (bytes: Uint8Array<ArrayBuffer>) => new File([bytes], 'film.mp4', { lastModified: 1 });
  const options = { storage: mapStorage(), partBytes: mebibyte };
  const begin = async (bytes: Uint8Array<ArrayBuffer>): Promise<void> => {
    const stop = new AbortController();
    const onProgress = ({ sent }: { sent: number }) => sent >= mebibyte && stop.abort(new Error('stopped'));
    const begun = upload(client, chosen(bytes), { ...options, signal: stop.signal, onProgress });
    await t.rejects(begun, { message: 'stopped' });
  };
  await begin(one);
  await begin(other);
  t.equal(options.storage.kept.size, 2);
  for (const bytes of [other, one]) {
    const steps: number[] = [];
    const onProgress = ({ sent }: { sent: number }) => steps.push(sent);
    const file = await upload(client, chosen(bytes), { ...options, onProgress });
    t.equal(file.sha256, sha256(bytes));
    t.equal(steps[0], mebibyte, 'each resumes');
  }
});

t.test('an upload that is gone begins anew', { skip: !full }, async (t) => {
  const client = clientOf(sluice);
  const file = new File([someBytes(5_000_000)], 'gone.bin', { lastModified: 1 });
  const options = { storage: mapStorage(), partBytes: mebibyte };
  const stop = new AbortController();
  const onProgress = ({ sent }: { sent: number }) => sent > 0 && stop.abort();
  await t.rejects(upload(client, file, { ...options, signal: stop.signal, onProgress }));
  const [address] = options.storage.kept.values();
  const headers = { authorization: `Bearer ${sluice.token}`, 'tus-resumable': '1.0.0' };
  t.equal((await fetch(`${sluice.baseUrl}${address}`, { method: 'DELETE', headers })).status, 204);
  t.match(await upload(client, file, options), { size: 5_000_000 });
  t.equal(options.storage.kept.size, 0);
});

t.test('streams of unknown length', { skip: !full }, async (t) => {
  const proxy = await cuttingProxy(t, sluice, { cuts: 4, after: () => 1_500_000 });
  const client = clientOf(sluice, { url: proxy.url });
  const streamOf = (bytes: Uint8Array<ArrayBuffer>) => new Blob([bytes]).stream();
  for (const size of [0, 10, mebibyte, 2 * mebibyte, 9_000_001]) {
    const bytes = someBytes(size);
    const file = await upload(client, streamOf(bytes), { name: 's.bin', partBytes: mebibyte });
    t.match(file, { size, sha256: sha256(bytes), originalName: 's.bin' });
  }
  t.ok(proxy.cut() > 1);
  const stop = new AbortController();
  let cancelled: unknown;
  let pieces = 0;
  const endless = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await setImmediate();
      controller.enqueue(new Uint8Array(10));
      if (++pieces === 5) stop.abort(new Error('enough'));
    },
    cancel: (reason) => {
      cancelled = reason;
    },
  });
  await t.rejects(upload(client, endless, { signal: stop.signal }), { message: 'enough' });
  t.match(cancelled, { message: 'enough' });
});

t.test('a token that expires in the middle', { skip: !full }, async (t) => {
  const bytes = someBytes(2_500_000);
  const file = new File([bytes], 'token.bin', { lastModified: 1 });
  const options = { storage: mapStorage(), partBytes: mebibyte / 4 };
  let token = sluice.token;
  const client = clientOf(sluice, { token: () => token });
  const refused = upload(client, file, {
    ...options,
    onProgress: ({ sent }) => {
      if (sent >= 1.25 * mebibyte) token = 'expired-0123456789abcdef';
    },
  });
  await t.rejects(refused, { name: 'SluiceError', status: 401, code: 'unauthorized' });
  // as is the first request after a reload
  await t.rejects(upload(client, file, options), { status: 401, code: 'unauthorized' });
  token = sluice.token;
  const steps: number[] = [];
  const stored = await upload(client, file, { ...options, onProgress: ({ sent }) => steps.push(sent) });
  t.equal(stored.sha256, sha256(bytes));
  t.equal(steps[0], 1.25 * mebibyte);
});

t.test('bytes that change on the way are sent again', async (t) => {
  const bytes = someBytes(4_000_000);
  let spoilt = 0;
  const spoiling =
    (most: number): typeof fetch =>
    (input, init) => {
      const body = init?.body;
      if (!(body instanceof ArrayBuffer) || spoilt >= most) return fetch(input, init);
      spoilt++;
      const wrong = new Uint8Array(body.slice(0));
      wrong[5] = (wrong[5] as number) ^ 1;
      return fetch(input, { ...init, body: wrong });
    };
  for (const partBytes of full ? [mebibyte, 8 * mebibyte] : [mebibyte]) {
    spoilt = 0;
    const file = await upload(clientOf(sluice, { fetch: spoiling(2) }), bytes, { partBytes });
    t.equal(file.sha256, sha256(bytes));
    t.equal(spoilt, 2);
    const never = clientOf(sluice, { fetch: spoiling(Number.POSITIVE_INFINITY), retries: 1 });
    await t.rejects(upload(never, bytes, { partBytes }), { code: 'checksum_mismatch', status: 400 });
  }
});

t.test('what is refused, and what is not Sluice', { skip: !full }, async (t) => {
  const client = clientOf(await sluiceWithDigests(t, { MAX_UPLOAD_BYTES: '3000000' }));
  for (const partBytes of [mebibyte, 8 * mebibyte])
    await t.rejects(upload(client, someBytes(4_000_000), { partBytes }), { code: 'payload_too_large' });
  const stream = new Blob([someBytes(4_000_000)]).stream();
  await t.rejects(upload(client, stream, { partBytes: mebibyte }), { code: 'payload_too_large' });
  const portal = clientOf(sluice, { fetch: async () => new Response('<h1>Log in</h1>') });
  for (const partBytes of [1, 10])
    await t.rejects(upload(portal, 'hello', { partBytes }), { code: 'not_sluice', status: 200 });
  const away = clientOf(sluice, { url: 'http://127.0.0.1:1', retries: 1 });
  const failure = await upload(away, 'hello').catch((error: unknown) => error);
  t.ok(failure instanceof SluiceError && failure.code === 'no_answer');
});

t.test('by a link, without a token', async (t) => {
  const link = await uploadLink(clientOf(sluice), { expiresIn: 60, type: 'image/', times: 2 });
  const stranger = clientOf(sluice, { token: '' });
  const bytes = someBytes(3_000_000);
  for (const partBytes of [mebibyte, 8 * mebibyte])
    t.equal((await upload(stranger, bytes, { name: 'é.png', link, partBytes })).sha256, sha256(bytes));
  await t.rejects(upload(stranger, bytes, { name: 'é.png', link }), { code: 'link_refused', status: 403 });
});

t.test('a folder, and the time that files stay', async (t) => {
  const client = clientOf(sluice);
  const bytes = someBytes(700_000);
  const list = { name: 'index.m3u8', folder: 'new' };
  const { folder = '', ...first } = await upload(client, '#EXTM3U', { ...list, expiresIn: 3600 });
  t.match(first, { path: 'index.m3u8', originalName: 'index.m3u8' });
  t.equal(Date.parse(first.expiresAt ?? '') - Date.parse(first.createdAt), 3_600_000);
  const link = await uploadLink(client, { expiresIn: 60 });
  const stranger = clientOf(sluice, { token: '' });
  const small = 2 ** 18;
  const ways = {
    put: { partBytes: mebibyte },
    tus: { partBytes: small, direct: false },
    direct: { partBytes: small, direct: true },
  };
  for (const [way, how] of Object.entries(ways))
    for (const [by, more] of [
      ['token', how],
      ['link', { ...how, link }],
    ] as const) {
      // as it is in a query, and what has a meaning there
      const path = `${way}/${by} & é?.ts`;
      const options = { name: 'seg.ts', folder, path, expiresIn: 60, ...more };
      const file = await upload(by === 'link' ? stranger : client, bytes, options);
      t.match(file, { folder, path, originalName: 'seg.ts', size: bytes.length }, path);
      t.equal(Date.parse(file.expiresAt ?? '') - Date.parse(file.createdAt), 60_000);
      await t.rejects(upload(client, bytes, { ...options, ...how }), { code: 'file_exists', status: 409 });
    }
  const { count } = await filesPage(client, { folder, count: true });
  t.equal(count, 7);
  for (const how of Object.values(ways)) {
    await t.rejects(upload(client, bytes, { path: 'a', ...how }), { code: 'invalid_options', status: 400 });
    await t.rejects(upload(client, bytes, { folder: link.put, ...how }), { code: 'invalid_options' });
    await t.rejects(upload(client, bytes, { folder: first._id, ...how }), { code: 'not_found' });
  }
});

t.test('an upload that was begun into one folder does not end in another', async (t) => {
  const client = clientOf(sluice);
  const bytes = someBytes(3_000_000);
  const chosen = () => new File([bytes], 'film.mp4', { lastModified: 1 });
  const [one, other] = await Promise.all([
    upload(client, 'x', { folder: 'new' }),
    upload(client, 'x', { folder: 'new' }),
  ]);
  const options = { storage: mapStorage(), partBytes: mebibyte };
  const stop = new AbortController();
  const onProgress = ({ sent }: { sent: number }) => sent >= mebibyte && stop.abort(new Error('stopped'));
  const begun = upload(client, chosen(), {
    ...options,
    folder: one.folder ?? '',
    signal: stop.signal,
    onProgress,
  });
  await t.rejects(begun, { message: 'stopped' });
  for (const { folder = '' } of [other, one])
    t.match(await upload(client, chosen(), { ...options, folder }), { folder, sha256: sha256(bytes) });
});

t.test('a path, in Node', { skip: !full }, async (t) => {
  const path = join(await temporaryFolder(t), 'größe.csv');
  const bytes = someBytes(5_000_000);
  await writeFile(path, bytes);
  const client = clientOf(sluice);
  const options = { storage: mapStorage(), partBytes: mebibyte };
  const stop = new AbortController();
  const onProgress = ({ sent }: { sent: number }) => sent > 0 && stop.abort();
  await t.rejects(uploadPath(client, path, { ...options, signal: stop.signal, onProgress }));
  t.equal(options.storage.kept.size, 1);
  t.match(await uploadPath(client, path, options), {
    originalName: 'größe.csv',
    contentType: 'text/csv',
    sha256: sha256(bytes),
  });
  await t.rejects(uploadPath(client, `${path}.none`), { code: 'ENOENT' });
});
