/** An S3 that is away, or does not accept the server: what its operator and its clients hear. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import type { S3Timing } from '../../common/object-store/s3/s3-options.ts';
import { createS3Store } from '../../common/object-store/s3/s3-store.ts';
import { healthRoutes } from '../../common/process-routes/health-routes.ts';
import { checkStore } from '../../gateway/check-store.ts';
import { fakeRequest } from '../services/fake-request.ts';
import { freePorts } from '../services/free-port.ts';
import { serveGatewayOn } from '../services/gateway-on-s3.ts';
import type { FaultRule } from '../services/s3-stub/fault-rules.ts';
import { type S3Stub, startS3Stub } from '../services/s3-stub/start-s3-stub.ts';
import { silentLog } from '../services/silent-log.ts';

const partBytes = 64 * 1024;
const noRights = 'S3 refuses this key access to the bucket: check its rights';
type Change = Partial<Pick<S3Stub, 'accessKeyId' | 'secretAccessKey' | 'bucket' | 'region' | 'endpoint'>>;

async function setUp(t: Test) {
  const stub = await startS3Stub({ minPartBytes: partBytes });
  t.teardown(() => stub.close());
  return {
    stub,
    open(change: Change = {}, timing: Partial<S3Timing> = { request: 2000 }) {
      const log = silentLog();
      const { accessKeyId, secretAccessKey, bucket, region, endpoint } = { ...stub, ...change };
      const store = createS3Store({
        ...{ bucket, region, endpoint, forcePathStyle: true, partBytes, maxObjectBytes: 1e8, log },
        credentials: { accessKeyId, secretAccessKey },
        timing: { ...timing, cleanup: 1, firstPause: 1, longestPause: 5 },
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
    await checkStore(store, null, log);
    t.match(log.failures, [sentence]);
    const readyz = healthRoutes(
      [{ name: 'the object store', check: (signal) => store.ready(signal) }],
      () => null,
    ).find(({ path }) => path === '/readyz');
    await t.rejects(async () => readyz?.handler(fakeRequest()), {
      status: 503,
      message: `the object store: ${sentence}`,
    });
    t.equal(log.failures.length, 1, 'the log has it once');
    denied?.remove();
  }
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
  await checkStore(store, (key) => `${stub.endpoint}/${stub.bucket}/${key}`, log);
  t.match(log.failures, [/the bucket is private/]);
  t.strictSame(stub.objects(), [], 'nothing is left of the check');
  const open200 = createServer((_, response) => response.end()).listen(0, '127.0.0.1');
  t.teardown(() => open200.close());
  const good = open();
  await checkStore(
    good.store,
    (key) => `http://127.0.0.1:${(open200.address() as AddressInfo).port}/${key}`,
    good.log,
  );
  t.strictSame(good.log.failures, []);
});
