/** An S3 that is away, or does not accept the server: what its operator and its clients hear. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { StoreCheck } from '#gateway/store-check.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import type { S3Timing } from '#objects/s3/s3-options.ts';
import { createS3Store } from '#objects/s3/s3-store.ts';
import { healthRoutes } from '#process/process-routes/health-routes.ts';
import { fakeRequest } from '../services/fake-request.ts';
import { freePorts } from '../services/free-port.ts';
import { serveGatewayOn } from '../services/gateway-on-s3.ts';
import type { FaultRule } from '../services/s3-stub/fault-rules.ts';
import { type S3Stub, startS3Stub } from '../services/s3-stub/start-s3-stub.ts';
import { silentLog } from '../services/silent-log.ts';

const partBytes = 64 * 1024;
const noRights = 'S3 refuses this key access to the bucket: check its rights';
const deploymentId = '0198c0de-0000-7000-8000-000000000001';
const checkOf = (
  { store, log }: { store: ObjectStore; log: ReturnType<typeof silentLog> },
  more: { publicUrl?: (key: string) => string; pause?: number } = {},
) => new StoreCheck({ store, log, deploymentId, publicUrl: null, ...more });
const readyzOf = (check: { ready(signal: AbortSignal): Promise<void> }) => {
  const ready = [{ name: 'the object store', check: (signal: AbortSignal) => check.ready(signal) }];
  const route = healthRoutes(ready, () => null).find(({ path }) => path === '/readyz');
  return async () => route?.handler(fakeRequest());
};
type Change = Partial<Pick<S3Stub, 'accessKeyId' | 'secretAccessKey' | 'bucket' | 'region' | 'endpoint'>>;

async function setUp(t: Test) {
  const stub = await startS3Stub({ minPartBytes: partBytes });
  t.teardown(() => stub.close());
  return {
    stub,
    open(change: Change = {}, timing: Partial<S3Timing> = { request: 10_000 }) {
      const log = silentLog();
      const { accessKeyId, secretAccessKey, bucket, region, endpoint } = { ...stub, ...change };
      const store = createS3Store({
        bucket,
        region,
        endpoint,
        forcePathStyle: true,
        partBytes,
        maxObjectBytes: 1e8,
        log,
        credentials: { accessKeyId, secretAccessKey },
        timing: { cleanup: 1, ...timing, firstPause: 1, longestPause: 5 },
      });
      t.teardown(() => store.close());
      return { store, log };
    },
  };
}

t.test('what is wrong with the access to S3 is one sentence, in /readyz and once in the log', async (t) => {
  const { open, stub } = await setUp(t);
  const cases: readonly [Change, string, FaultRule?][] = [
    [{ accessKeyId: 'ANOTHERKEY0000000001' }, 'S3 refuses the access key: check S3_ACCESS_KEY_ID'],
    [{ secretAccessKey: 'x'.repeat(40) }, 'S3 refuses the secret key: check S3_SECRET_ACCESS_KEY'],
    [{ bucket: 'another-bucket' }, 'the bucket does not exist: check S3_BUCKET'],
    [{ region: 'eu-west-9' }, 'the bucket is in the region us-east-1: check S3_REGION'],
    [{}, noRights, { action: { kind: 'error', status: 403, code: 'AccessDenied' } }],
    [{}, noRights, { operation: 'HeadBucket', action: { kind: 'error', status: 403, code: 'AccessDenied' } }],
  ];
  for (const [change, sentence, fault] of cases) {
    const { store, log } = open(change);
    const denied = fault && stub.fault(fault);
    const check = checkOf({ store, log });
    await check.run();
    t.match(log.failures, [sentence]);
    await t.rejects(readyzOf(check), { status: 503, message: `the object store: ${sentence}` });
    t.equal(log.failures.length, 1, 'the log has it once');
    denied?.remove();
  }
});

for (const [operation, action] of [
  ['CompleteMultipartUpload', { kind: 'error', status: 501, code: 'NotImplemented' }],
  ['CompleteMultipartUpload', { kind: 'error', status: 403, code: 'AccessDenied' }],
  ['CompleteMultipartUpload', { kind: 'error-in-ok', code: 'NotImplemented' }],
  ['CreateMultipartUpload', { kind: 'error', status: 403, code: 'AccessDenied' }],
  ['UploadPart', { kind: 'error', status: 403, code: 'AccessDenied' }],
] as const) {
  const how = `${operation}, ${'status' in action ? action.status : 200} ${action.code}`;
  t.test(
    `a store that refuses objects of several parts was ready, and large files a bare 500: ${how}`,
    async (t) => {
      const { open, stub } = await setUp(t);
      // only an error in a 200 is tried again, for twice as long
      const request = action.kind === 'error-in-ok' ? 2000 : 30_000;
      const { store, log } = open({}, { request, cleanup: 5000 });
      const fault = stub.fault({ operation, action });
      const check = checkOf({ store, log }, { pause: 0 });
      const readyz = readyzOf(check);
      const sentence = new RegExp(` S3 (refuses|fails at) ${operation} \\(\\d+ ${action.code}\\)`);
      await check.run();
      t.match(log.failures, [sentence]);
      await t.rejects(readyz(), { status: 503, message: /^the object store: S3 (refuses|fails)/ });
      await check.run();
      t.equal(log.failures.length, 1, 'the log has it once');
      const gateway = await serveGatewayOn(t, store, { largestPart: 1024 * 1024 });
      const answer = await gateway.upload(Buffer.alloc(5 * partBytes));
      const body = await answer.text();
      t.match(JSON.parse(body), { statusCode: 503, code: 'unavailable' });
      t.notMatch(body, new RegExp(`${operation}|${action.code}`), 'the answer keeps what the store said');
      fault.remove();
      // it begins the check anew
      await readyz().catch(() => {});
      await check.run();
      t.match(await readyzOf(check)(), { status: 200 }, 'it goes on by itself');
      t.equal((await gateway.upload(Buffer.alloc(5 * partBytes))).status, 200);
    },
  );
}

t.test('a first check leaves nothing behind, also beside others', async (t) => {
  const { open, stub } = await setUp(t);
  const { store, log } = open({}, { request: 2000, cleanup: 5000 });
  await Promise.all([1, 2, 3].map(() => checkOf({ store, log }).run()));
  t.strictSame(log.failures, []);
  t.strictSame(stub.objects(), []);
  for await (const upload of store.listOpenUploads(AbortSignal.timeout(5000)))
    t.fail(`${upload.key} is left`);
});

t.test(
  'a store that is away at the start is ready when it is back, once it takes such an object',
  async (t) => {
    const { open, stub } = await setUp(t);
    const { store, log } = open({}, { request: 2000, cleanup: 5000 });
    const away = stub.fault({ action: { kind: 'error', status: 503, code: 'SlowDown' } });
    const check = checkOf({ store, log }, { pause: 0 });
    await check.run();
    t.match(log.failures, [/the object store failed its check/]);
    await t.rejects(readyzOf(check)(), { status: 503, message: 'the object store does not answer' });
    away.remove();
    const parts = stub.fault({
      operation: 'CompleteMultipartUpload',
      action: { kind: 'error', status: 501, code: 'NotImplemented' },
    });
    await t.rejects(readyzOf(check)(), { status: 503, message: /S3 refuses CompleteMultipartUpload/ });
    parts.remove();
    await readyzOf(check)().catch(() => {});
    await check.run();
    t.match(await readyzOf(check)(), { status: 200 });
  },
);

t.test('a key that may not delete is a warning, and the janitor has the rest', async (t) => {
  const { open, stub } = await setUp(t);
  const { store, log } = open();
  stub.fault({ operation: 'DeleteObject', action: { kind: 'error', status: 403, code: 'AccessDenied' } });
  const check = checkOf({ store, log });
  await check.run();
  t.match(log.failures, [/could not be removed: the janitor/]);
  t.match(await readyzOf(check)(), { status: 200 });
});

t.test('uploads into an S3 that is away are 503, long before a request to it may end', async (t) => {
  const { open } = await setUp(t);
  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  t.teardown(() => {
    silent.closeAllConnections();
    silent.close();
  });
  const ports = { dead: await freePorts(1), silent: (silent.address() as AddressInfo).port };
  for (const [name, port] of Object.entries(ports)) {
    // a request has an hour, of which a silent S3 is waited for a moment
    const { store } = open({ endpoint: `http://127.0.0.1:${port}` }, { request: 3_600_000, quiet: 100 });
    const gateway = await serveGatewayOn(t, store, { largestPart: 1024 * 1024 });
    for (const bytes of [10, 5 * partBytes]) {
      const answer = await gateway.upload(Buffer.alloc(bytes));
      t.match(await answer.json(), { statusCode: 503, code: 'unavailable' }, `${name}, ${bytes} bytes`);
      t.equal(answer.headers.get('retry-after'), '1');
    }
    t.equal(gateway.rows.size, 0);
  }
});

t.test('a bucket that is said to be public, and is not, is a warning', async (t) => {
  const { stub, open } = await setUp(t);
  const { store, log } = open();
  await checkOf({ store, log }, { publicUrl: (key) => `${stub.endpoint}/${stub.bucket}/${key}` }).run();
  t.match(log.failures, [/the bucket is private/]);
  t.strictSame(stub.objects(), [], 'nothing is left of the check');
  const open200 = createServer((_, response) => response.end()).listen(0, '127.0.0.1');
  t.teardown(() => open200.close());
  const good = open();
  await once(open200, 'listening');
  const { port } = open200.address() as AddressInfo;
  await checkOf(good, { publicUrl: (key) => `http://127.0.0.1:${port}/${key}` }).run();
  t.strictSame(good.log.failures, []);
});
