/** Direct uploads of sluice-client to a real server, without S3 and with a bucket of its own origin. */
import t from 'tap';
import { upload } from '#client/upload.ts';
import { clientOf, cuttingProxy, mapStorage, sha256, sluiceWithDigests } from '../services/client-files.ts';
import { bytes, chosen, directClientSuite, partBytes, read } from '../services/direct-client-suite.ts';
import { lastingPort } from '../services/lasting-port.ts';
import { startS3Stub } from '../services/s3-stub/start-s3-stub.ts';
import { stubSettings } from '../services/s3-stub/stub-settings.ts';

t.test('without S3, when the caller says so', async (t) => {
  const sluice = await sluiceWithDigests(t);
  const proxy = await cuttingProxy(t, sluice, { cuts: 3, after: (id) => id * 1_000_000 });
  const asked: string[] = [];
  const client = clientOf(sluice, {
    url: proxy.url,
    fetch: (input, init) => {
      asked.push(`${init?.method} ${new URL(`${input}`).pathname}`);
      return fetch(input, init);
    },
  });
  await directClientSuite(t, sluice, client);
  asked.length = 0;
  t.ok(await upload(client, chosen(), { partBytes }));
  t.equal(asked[0], 'GET /_f_/files/options');
  t.notOk(asked.includes('POST /_f_/files/direct'), 'nobody offered it');
});

t.test('an upload that the server has dropped begins anew', async (t) => {
  const sluice = await sluiceWithDigests(t);
  const client = clientOf(sluice);
  const storage = mapStorage();
  const stop = new AbortController();
  const onProgress = ({ sent }: { sent: number }) => sent >= partBytes && stop.abort();
  const options = { partBytes, direct: true, storage };
  await t.rejects(upload(client, chosen(), { ...options, signal: stop.signal, onProgress }));
  const [address] = JSON.parse([...storage.kept.values()][0] ?? '[]');
  const headers = { authorization: `Bearer ${sluice.token}` };
  t.equal((await fetch(`${sluice.baseUrl}${address}`, { method: 'DELETE', headers })).status, 204);
  t.equal(await read(sluice, await upload(client, chosen(), options)), sha256(bytes));
});

t.test('to a bucket, which the server offers', async (t) => {
  const stub = await startS3Stub();
  t.teardown(() => stub.close());
  const cuts = await cuttingProxy(t, { baseUrl: stub.endpoint }, { cuts: 3, after: (id) => id * 2_000_000 });
  const sluice = await sluiceWithDigests(t, {
    ...stubSettings(stub),
    ...{ S3_PUBLIC_ENDPOINT: cuts.url, DIGEST: 'none' },
  });
  const client = clientOf(sluice);
  await directClientSuite(t, sluice, client);
  t.ok(cuts.cut() > 0);

  const before = cuts.forwarded('toTarget');
  const file = await upload(client, chosen(), { partBytes });
  t.equal(await read(sluice, file), sha256(bytes));
  t.match(file, { verified: 'size' });
  t.ok(cuts.forwarded('toTarget') >= before + bytes.length, 'by default');

  const faults = [
    { action: { kind: 'error', status: 503, code: 'SlowDown' }, times: 2 },
    { action: { kind: 'error', status: 403, code: 'AccessDenied', stage: 'before-body' }, times: 2 },
    // stored, and the answer lost
    { action: { kind: 'reset', stage: 'after-work' }, times: 2 },
    { action: { kind: 'reset-in-body', bytes: 1_000_000 }, times: 1 },
  ] as const;
  for (const fault of faults) {
    stub.fault({ operation: 'UploadPart', ...fault });
    const stored = await upload(client, chosen(), { partBytes });
    t.equal(await read(sluice, stored), sha256(bytes), JSON.stringify(fault));
    stub.clearFaults();
  }
  // an object of one part can't be sent again
  stub.fault({ operation: 'PutObject', times: 1, after: 1, action: { kind: 'reset', stage: 'after-work' } });
  t.match(await upload(client, 'hello', { direct: true }), { size: 5 });
  stub.clearFaults();
  t.strictSame(stub.openUploads(), []);
});

t.test('a bucket that nobody reaches, while the server answers', async (t) => {
  const stub = await startS3Stub();
  t.teardown(() => stub.close());
  const sluice = await sluiceWithDigests(t, {
    ...stubSettings(stub),
    ...{ S3_PUBLIC_ENDPOINT: `http://127.0.0.1:${await lastingPort()}`, DIGEST: 'none' },
  });
  const client = clientOf(sluice, { retries: 1 });
  await t.rejects(upload(client, chosen(), { partBytes }), { code: 'bucket_unreachable', status: 0 });
  t.match(await upload(client, chosen(), { partBytes, direct: false }), { size: bytes.length });
});
