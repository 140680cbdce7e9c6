/** kill -9 of a worker in the middle of uploads: the janitor cleans up after it, and disturbs nobody else. */
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { connectRaw } from '../services/raw-http.ts';
import { startS3Stub } from '../services/s3-stub/start-s3-stub.ts';
import { stubSettings } from '../services/s3-stub/stub-settings.ts';
import { startClickhouse } from '../services/start-clickhouse.ts';
import { removeData, runToEnd, startSluice } from '../services/start-sluice.ts';
import { until, workerPids } from '../services/worker-pids.ts';

const large = Buffer.alloc(12 * 1024 * 1024, 'sluice');
const small = Buffer.from('a small file');
/** What is younger is left alone by the janitor. Milliseconds. */
const patience = 1000;

t.test('kill -9 of a worker in the middle of uploads', { timeout: 560_000 }, async (t) => {
  const chdb = await startClickhouse();
  const stub = await startS3Stub();
  const sluice = await startSluice({
    script: 'gateway/main.ts',
    env: {
      CLICKHOUSE_URL: chdb.url,
      WORKERS: '2',
      ...stubSettings(stub),
      UPLOAD_PART_BYTES: String(5 * 1024 * 1024),
      JANITOR_STALE_AFTER_MS: String(patience),
      JANITOR_GRACE_MS: String(patience),
      LOG_LEVEL: 'debug',
    },
  });
  t.teardown(async () => {
    await sluice.stop();
    await removeData(sluice);
    await stub.close();
    await chdb.close();
  });
  await until(() => workerPids(sluice).size === 2);
  /** The worker that a log line about a request names. */
  const workerOf = (requestId: string): number | undefined => {
    const line = sluice
      .stderr()
      .split('\n')
      .find((text) => text.includes(`"requestId":"${requestId}"`));
    return line === undefined ? undefined : (JSON.parse(line) as { worker: number }).worker;
  };

  /** Connections that sit in the middle of an upload, and the worker that each has. */
  const head = '--b\r\nContent-Disposition: form-data; name="file"; filename="slow.bin"\r\n\r\n';
  const tail = '\r\n--b--\r\n';
  const begin = async (i: number) => {
    const raw = connectRaw(sluice.baseUrl);
    // says which worker the connection belongs to
    raw.send(`GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-Id: crash-test-${i}\r\n\r\n`);
    await raw.until(/\}$/);
    raw.send(
      `POST /_f_/crash/upload HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${sluice.token}\r\n` +
        `Content-Type: multipart/form-data; boundary=b\r\nContent-Length: ${head.length + large.length + tail.length}\r\n\r\n${head}`,
    );
    raw.send(large.subarray(0, 7 * 1024 * 1024));
    await until(() => workerOf(`crash-test-${i}`) !== undefined);
    return { raw, worker: workerOf(`crash-test-${i}`) as number };
  };
  const begun: Awaited<ReturnType<typeof begin>>[] = [];
  const on = (worker: number) => begun.filter((upload) => upload.worker === worker);
  while (on(1).length < 3 || on(2).length < 3) begun.push(await begin(begun.length));
  await until(() => stub.openUploads().length === begun.length);

  const acknowledged: string[] = [];
  let cut = 0;
  let running = true;
  const upload = async (content: Buffer): Promise<void> => {
    const body = new FormData();
    body.set('file', new Blob([content]), 'f.bin');
    const headers = { authorization: `Bearer ${sluice.token}` };
    try {
      const response = await fetch(`${sluice.baseUrl}/_f_/crash/upload`, { method: 'POST', headers, body });
      const answer = (await response.json()) as { name: string };
      if (response.status === 200) acknowledged.push(answer.name);
      else t.fail(`an upload got ${response.status} ${JSON.stringify(answer)}`);
    } catch {
      cut++;
    }
  };
  const load = Array.from({ length: 12 }, async (_, i) => {
    while (running) await upload(i < 3 ? large : small);
  });
  while (acknowledged.length < 50) await new Promise((resolve) => setTimeout(resolve, 10));

  const before = workerPids(sluice);
  const survivors = on(1);
  process.kill(before.get(2) as number, 'SIGKILL');
  await until(() => workerPids(sluice).get(2) !== before.get(2));
  running = false;
  await Promise.all(load);
  t.ok(cut > 0, `${cut} uploads under load were cut`);
  t.comment(`${acknowledged.length} acknowledged, ${cut} cut`);

  let aborted = 0;
  const runJanitor = async (): Promise<void> => {
    const { stdout } = await runToEnd('cli/janitor.ts', [], { DATA_DIR: sluice.dataDir });
    const report = JSON.parse(stdout) as { uploadsAborted: number; failures: number };
    t.equal(report.failures, 0);
    aborted += report.uploadsAborted;
  };
  await until(async () => {
    await runJanitor();
    return stub.openUploads().length <= survivors.length;
  });
  t.ok(aborted >= on(2).length, 'at least those that sat in the middle');
  await sleep(patience);
  await runJanitor();
  t.equal(stub.openUploads().length, survivors.length, 'only uploads of the other worker are open');
  for (const { raw } of survivors)
    raw.send(Buffer.concat([large.subarray(7 * 1024 * 1024), Buffer.from(tail)]));
  for (const { raw } of survivors) {
    const answer = await raw.until(/"createdAt":"[^"]+".*\}$/);
    t.match(answer, /HTTP\/1.1 200 /, 'an upload of the other worker went on undisturbed');
    acknowledged.push(/"name":"([^"]+)"/.exec(answer)?.[1] as string);
    raw.socket.destroy();
  }
  t.strictSame(stub.openUploads(), [], 'no open multipart upload');
  const stored = stub.objects().map(({ key }) => key.slice(key.lastIndexOf('/') + 1));
  for (const name of stored) {
    const response = await fetch(`${sluice.baseUrl}/_f_/crash/${name}`, { method: 'HEAD' });
    if (response.status !== 200) t.fail(`the object ${name} has no row`);
  }
  const lost = acknowledged.filter((name) => !stored.includes(name));
  t.strictSame(lost, [], 'every acknowledged file is there');
});
