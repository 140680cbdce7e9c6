/** No answer to an upload waits for what its failure leaves to be taken back. */
import t, { type Test } from 'tap';
import { serveGatewayOn } from '../services/gateway-on-s3.ts';
import { openStubStore, type StubStore, stubPartBytes } from '../services/stub-store.ts';
import { untilEmpty } from '../services/until-empty.ts';

const content = Buffer.alloc(3 * stubPartBytes + 1, 'x');

/** S3 answers other requests meanwhile, so a removal that hangs is tried again. */
const answered = {
  get at() {
    return performance.now();
  },
  set at(_: number) {},
};

async function serve(t: Test): Promise<StubStore & Awaited<ReturnType<typeof serveGatewayOn>>> {
  const opened = await openStubStore(t, { timing: { quiet: 500, answered } });
  return { ...opened, ...(await serveGatewayOn(t, opened.store)) };
}

t.test('the answer to an upload that S3 refuses comes while nothing can be taken back', async (t) => {
  const { stub, upload, running, memory } = await serve(t);
  const denied = { kind: 'error', status: 403, code: 'AccessDenied' } as const;
  for (const operation of ['UploadPart', 'CompleteMultipartUpload'] as const) {
    const refusal = stub.fault({ operation, action: denied });
    const silent = stub.fault({ operation: 'AbortMultipartUpload', action: { kind: 'hang' } });
    t.equal((await upload(content)).status, 503, operation);
    t.equal(stub.openUploads().length, 1, 'it is there');
    t.equal(running.open, 1, 'and known to be');
    refusal.remove();
    silent.remove();
    t.strictSame(await untilEmpty(() => stub.openUploads()), []);
    t.ok(await running.untilIdle(20_000), 'then it is over');
    t.equal(memory.used, 0);
  }
});

t.test('the answer to an upload whose row is refused comes while its object is there', async (t) => {
  const { stub, upload, running, state } = await serve(t);
  state.failRows = true;
  const silent = stub.fault({ operation: 'DeleteObject', action: { kind: 'hang' } });
  t.equal((await upload(content)).status, 500);
  t.equal(stub.objects().length, 1);
  t.equal(running.open, 1);
  silent.remove();
  t.strictSame(await untilEmpty(() => stub.objects()), []);
  t.ok(await running.untilIdle(20_000));
});
