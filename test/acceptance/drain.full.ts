/** How a process leaves a load balancer: it says so, serves on for a while, finishes what runs, and leaves nothing. */
import t from 'tap';
import { connectRaw } from '../services/raw-http.ts';
import { startS3Stub } from '../services/s3-stub/start-s3-stub.ts';
import { stubSettings } from '../services/s3-stub/stub-settings.ts';
import { removeData, startSluice } from '../services/start-sluice.ts';
import { until } from '../services/worker-pids.ts';

const ready = 'GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n';
const alive = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';

t.test('during DRAIN_DELAY_MS requests are served, and /readyz says that no more should come', async (t) => {
  const sluice = await startSluice({ env: { DRAIN_DELAY_MS: '1500' } });
  t.teardown(() => removeData(sluice));
  const kept = connectRaw(sluice.baseUrl);
  kept.send(alive);
  await kept.until(/\}$/);
  sluice.process.kill('SIGTERM');
  let refusal = '';
  await until(async () => {
    const raw = connectRaw(sluice.baseUrl);
    raw.send(ready);
    refusal = await raw.until(/\}$/);
    raw.socket.destroy();
    return !refusal.startsWith('HTTP/1.1 200 ');
  });
  t.match(refusal, /^HTTP\/1.1 503 .*\r\nConnection: close\r\n.*"code":"shutting_down"/is);
  t.equal((await fetch(`${sluice.baseUrl}/healthz`)).status, 200, 'a new connection is served');
  kept.send(alive);
  const answers = await kept.closed();
  t.equal(answers.match(/HTTP\/1.1 200 /g)?.length, 2, 'and so is one from before');
  t.match(answers, /\r\nConnection: close\r\n/i, 'which is closed with its answer');
  t.equal(await sluice.ended(), 0);
  await t.rejects(fetch(`${sluice.baseUrl}/healthz`));
});

t.test('an upload past the drain deadline leaves nothing in S3, even a slow one', async (t) => {
  const stub = await startS3Stub({ storage: 'discard' });
  const sluice = await startSluice({
    env: {
      DRAIN_TIMEOUT_MS: '300',
      ...stubSettings(stub),
      UPLOAD_PART_BYTES: String(5 * 1024 * 1024),
    },
  });
  t.teardown(async () => {
    await sluice.stop();
    await removeData(sluice);
    await stub.close();
  });
  const raw = connectRaw(sluice.baseUrl);
  raw.send(
    `POST /_f_/drain/upload HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${sluice.token}\r\n` +
      'Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 9000000\r\n\r\n' +
      '--b\r\nContent-Disposition: form-data; name="file"; filename="never.bin"\r\n\r\n',
  );
  raw.send(Buffer.alloc(7_000_000, 'x'));
  await until(() => stub.openUploads().some(({ parts }) => parts.length > 0));
  stub.fault({ operation: 'AbortMultipartUpload', action: { kind: 'delay', ms: 5000 } });
  sluice.process.kill('SIGTERM');
  t.match(await raw.until(/\}\r?\n?$/), /^HTTP\/1.1 503 .*"code":"shutting_down"/s);
  t.equal(await sluice.ended(), 0);
  t.strictSame(stub.openUploads(), []);
  t.strictSame(stub.objects(), []);
});
