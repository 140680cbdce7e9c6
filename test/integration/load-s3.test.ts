/** The target `s3` of `sluice load`, against the stub, which checks signatures. */
import t, { type Test } from 'tap';
import type { MixRequest } from '../../load/mix/mix.ts';
import { slicesOf } from '../../load/seed/bytes.ts';
import { s3 } from '../../load/targets/s3.ts';
import type { Outcome } from '../../load/targets/target.ts';
import { loadTarget } from '../services/load-target.ts';
import { type S3Stub, startS3Stub } from '../services/s3-stub/start-s3-stub.ts';

const part = 5 * 1024 ** 2;
const uploads = [
  { name: 'small', kind: 'upload', sizes: [{ bytes: 70_000 }] },
  { name: 'parts', kind: 'upload', sizes: [{ bytes: 2 * part + 1 }] },
  { name: 'empty', kind: 'upload', sizes: [{ bytes: 0 }] },
];
const download = { name: 'download', kind: 'download', sizes: [{ bytes: 30_000 }] };
const mix = { seed: 5, requests: uploads };

async function started(t: Test, options: Record<string, string> = {}) {
  const stub = await startS3Stub();
  t.teardown(() => stub.close());
  const address = {
    url: stub.endpoint,
    credential: `${stub.accessKeyId}:${stub.secretAccessKey}`,
    options: { bucket: stub.bucket, region: stub.region, part: `${part}`, ...options },
  };
  return { stub, address };
}

const bytesOf = (stub: S3Stub, index: number): Buffer | null | undefined =>
  stub.objects().find(({ key }) => key.endsWith(`-${index}.bin`))?.bytes;

for (const signed of ['header', 'presigned']) {
  t.test(`files arrive as the seed has them, ${signed}`, async (t) => {
    const { stub, address } = await started(t, { signed });
    const target = await loadTarget(t, s3, address, mix);
    const outcomes: Outcome[] = [];
    for (const [number, { name, sizes }] of uploads.entries()) {
      const bytes = sizes[0]?.bytes as number;
      const outcome = await target.perform(name, number);
      outcomes.push(outcome);
      t.match(outcome, {
        good: true,
        status: 200,
        code: null,
        stored: { kind: 'file', index: number, bytes },
      });
      t.ok(outcome.sentBytes > bytes);
      t.ok(bytesOf(stub, number)?.equals(Buffer.concat([...slicesOf(5, number, 0, bytes)])), name);
      // as verification reads it: without keys
      const path = (outcome.stored as { path: string }).path;
      t.equal((await (await fetch(stub.endpoint + path)).arrayBuffer()).byteLength, bytes);
    }
    t.match(stub.counts(), { CreateMultipartUpload: 1, UploadPart: 3, CompleteMultipartUpload: 1 });
    await target.cleanUp();
    t.strictSame(stub.objects(), []);
    // whoever reads a result gets no address with a signature
    const { wrong = [] } = (await target.verify([outcomes[0]?.stored])) ?? {};
    t.strictSame(wrong, [`file 0 (/${stub.bucket}/sluice-load-5-0.bin) is lost: 404 NoSuchKey`]);
  });
}

t.test('downloads are compared with the seed', async (t) => {
  const { address } = await started(t);
  const target = await loadTarget(t, s3, address, { seed: 5, requests: [download] });
  const outcome = await target.perform('download', 7);
  t.match(outcome, { good: true, status: 200 });
  t.ok(outcome.receivedBytes > 30_000);
});

t.test('a refusal has the word of the server, and leaves no parts', async (t) => {
  const { stub, address } = await started(t);
  const target = await loadTarget(t, s3, address, mix);
  stub.fault({ operation: 'UploadPart', times: 1, action: { kind: 'error', status: 503, code: 'SlowDown' } });
  t.match(await target.perform('parts', 1), { good: false, status: 503, code: 'SlowDown' });
  t.strictSame(stub.openUploads(), []);
  const wrong = { ...address, credential: `${stub.accessKeyId}:wrong` };
  await t.rejects(loadTarget(t, s3, wrong, mix), /the bucket .* can't be used: the server answered 403/);
});

t.test('what a bucket does not have is refused', (t) => {
  const refusal = s3.refuses({ name: 'find', kind: 'find' } as MixRequest);
  t.equal(refusal, 'the request find is of the kind find, and a target of kind s3 has only files');
  t.end();
});
