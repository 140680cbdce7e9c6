/** kill -9 of the gateway in the middle of 50 uploads: after a restart and the janitor nothing is half there. */
import t from 'tap';
import { startS3Stub } from '../services/s3-stub/start-s3-stub.ts';
import { stubSettings } from '../services/s3-stub/stub-settings.ts';
import { removeData, runToEnd, startSluice } from '../services/start-sluice.ts';

const uploads = 50;
const content = Buffer.alloc(6 * 1024 * 1024, 'sluice');

t.test('kill -9 in the middle of 50 uploads', { timeout: 560_000 }, async (t) => {
  // the janitor reads an object that has no row yet, for its digest
  const stub = await startS3Stub({ storage: { folder: t.testdir() } });
  const env = {
    ...stubSettings(stub),
    UPLOAD_PART_BYTES: String(5 * 1024 * 1024),
    JANITOR_STALE_AFTER_MS: '1000',
    JANITOR_GRACE_MS: '1000',
    // nothing but the kill ends an upload, however busy the machine is
    S3_REQUEST_TIMEOUT_MS: '600000',
    UPLOAD_WAIT_TIMEOUT_MS: '600000',
    REQUEST_TIMEOUT_MS: '600000',
  };
  const sluice = await startSluice({ env });
  const acknowledged: string[] = [];
  let cut = 0;
  let killed: Promise<unknown> | undefined;
  const one = async (i: number): Promise<void> => {
    const body = new FormData();
    body.set('file', new Blob([content]), `f${i}.bin`);
    const headers = { authorization: `Bearer ${sluice.token}` };
    try {
      const response = await fetch(`${sluice.baseUrl}/_f_/kill/upload`, { method: 'POST', headers, body });
      if (response.status === 200) acknowledged.push(((await response.json()) as { name: string }).name);
      if (acknowledged.length === 5) killed ??= sluice.kill();
    } catch {
      cut++;
    }
  };
  // uploads end in waves, and twenty of them not at all: the kill finds many under way, however late it comes
  stub.fault({ operation: 'UploadPart', action: { kind: 'delay', ms: 1000 } });
  stub.fault({ operation: 'CompleteMultipartUpload', after: 30, action: { kind: 'hang' } });
  const running = Promise.all(Array.from({ length: uploads }, (_, i) => one(i)));
  await running;
  await killed;
  t.comment(`${acknowledged.length} acknowledged, ${cut} cut, ${stub.openUploads().length} open in S3`);
  t.ok(cut > 10, `${cut} uploads were cut`);
  stub.clearFaults();

  const again = await sluice.restart();
  t.teardown(async () => {
    await again.stop();
    await removeData(again);
    await stub.close();
  });
  await new Promise((resolve) => setTimeout(resolve, 1200));
  const janitor = await runToEnd('cli/janitor.ts', [], { DATA_DIR: again.dataDir, ...env });
  t.equal(janitor.status, 0, janitor.stderr);
  t.match(JSON.parse(janitor.stdout), { dryRun: false, failures: 0 });

  t.strictSame(stub.openUploads(), [], 'no open multipart upload');
  const stored = stub.objects().map(({ key }) => key.slice(key.lastIndexOf('/') + 1));
  const head = async (name: string): Promise<[number, string | null]> => {
    const response = await fetch(`${again.baseUrl}/_f_/kill/${name}`, { method: 'HEAD' });
    return [response.status, response.headers.get('content-length')];
  };
  for (const name of stored) {
    t.strictSame(await head(name), [200, String(content.length)], 'an object has its row');
  }
  for (const name of acknowledged) t.ok(stored.includes(name), 'an acknowledged file is there');
});
