import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { FaultAction } from '../services/s3-stub/fault-rules.ts';
import type { OperationName } from '../services/s3-stub/operations.ts';
import { seededRandom } from '../services/s3-stub/seeded-random.ts';
import { emptyPart, partOf, storeObject } from '../services/store-object.ts';
import { openStubStore, type StubStore, stubPartBytes } from '../services/stub-store.ts';
import { untilEmpty } from '../services/until-empty.ts';
import { patternBytes } from './object-store-contract.ts';

const never = new AbortController().signal;
const plain = { contentType: 'text/plain', metadata: {} };
const small = 1000;
const large = 3 * stubPartBytes + 10;

/** The requests that write an object, and an object for which each is sent. */
const writes: readonly (readonly [OperationName, size: number])[] = [
  ['PutObject', small],
  ['CreateMultipartUpload', large],
  ['UploadPart', large],
  ['CompleteMultipartUpload', large],
];

const slowDown = { kind: 'error', status: 503, code: 'SlowDown' } as const;
/** Milliseconds; long enough that only what hangs is quiet for so long. */
const quiet = 1_500;
/** S3 answers other requests meanwhile: it is not away as a whole. */
const answered = {
  get at() {
    return performance.now();
  },
  set at(_: number) {},
};
const denied = { kind: 'error', status: 403, code: 'AccessDenied' } as const;

/** All at once: some wait for a deadline. */
async function forEachWrite(work: (operation: OperationName, size: number) => Promise<void>): Promise<void> {
  await Promise.all(writes.map(([operation, size]) => work(operation, size)));
}

function nothingLeft(t: Test, { stub, log }: StubStore): void {
  t.strictSame(stub.objects(), [], 'no object');
  t.strictSame(stub.openUploads(), [], 'no upload');
  t.strictSame(log.failures, [], 'no complaint');
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

async function stored(t: Test, { stub, log }: StubStore, size: number): Promise<void> {
  t.equal(stub.objects().length, 1);
  t.ok(stub.objects()[0]?.bytes?.equals(patternBytes(size)), 'the right bytes');
  t.strictSame(await untilEmpty(() => stub.openUploads()), [], 'no upload');
  t.strictSame(log.failures, [], 'no complaint');
}

/** Nothing was done, and the client knows or doesn't. */
const passing: Readonly<Record<string, FaultAction>> = {
  'status 500': { kind: 'error', status: 500, code: 'InternalError' },
  'status 500 before the body': { kind: 'error', status: 500, code: 'InternalError', stage: 'before-body' },
  'status 502': { kind: 'error', status: 502, code: 'BadGateway' },
  'status 503': slowDown,
  'status 504': { kind: 'error', status: 504, code: 'GatewayTimeout' },
  'status 408': { kind: 'error', status: 408, code: 'Timeout' },
  'status 429': { kind: 'error', status: 429, code: 'TooManyRequests' },
  'status 400 RequestTimeout': { kind: 'error', status: 400, code: 'RequestTimeout' },
  'a reset before the body': { kind: 'reset', stage: 'before-body' },
  'a reset after the body': { kind: 'reset' },
  'a reset in the body': { kind: 'reset-in-body', bytes: 500 },
  'no answer': { kind: 'hang' },
  'no answer after the body': { kind: 'hang', stage: 'after-body' },
};

for (const [name, action] of Object.entries(passing)) {
  t.test(`${name}, twice: tried three times, and stored`, async (t) => {
    await forEachWrite(async (operation, size) => {
      const opened = await openStubStore(t, { timing: { quiet, answered } });
      const fault = opened.stub.fault({ operation, times: 2, action });
      await storeObject(opened.store, 'o/p/n', patternBytes(size), plain);
      t.equal(fault.hits, 2);
      const needed = operation === 'UploadPart' ? 4 : 1;
      t.equal(opened.stub.counts()[operation], needed + 2, operation);
      await stored(t, opened, size);
    });
  });
}

/** The work is done, and the client doesn't know. */
const lostAnswers: Readonly<Record<string, FaultAction>> = {
  'a reset after the work': { kind: 'reset', stage: 'after-work' },
  'no answer after the work': { kind: 'hang', stage: 'after-work' },
  'status 500 after the work': { kind: 'error', status: 500, code: 'InternalError', stage: 'after-work' },
  'half an answer': { kind: 'truncate' },
  'an error in status 200 after the work': {
    kind: 'error-in-ok',
    code: 'InternalError',
    stage: 'after-work',
  },
};

for (const [name, action] of Object.entries(lostAnswers)) {
  t.test(`${name}: tried again, and stored once`, async (t) => {
    await forEachWrite(async (operation, size) => {
      // an error in status 200 is what CompleteMultipartUpload alone does
      if (action.kind === 'error-in-ok' && operation !== 'CompleteMultipartUpload') return;
      const opened = await openStubStore(t, { timing: { quiet, answered } });
      opened.stub.fault({ operation, times: 1, action });
      await storeObject(opened.store, 'o/p/n', patternBytes(size), plain);
      const counts = opened.stub.counts();
      t.equal(counts[operation], operation === 'UploadPart' ? 5 : 2, operation);
      // the second complete finds no upload: whether the first one made the object is looked up
      t.equal(counts.HeadObject ?? 0, operation === 'CompleteMultipartUpload' ? 1 : 0);
      await stored(t, opened, size);
      // the upload whose id was lost is looked for and aborted
      const aborts = opened.stub.counts().AbortMultipartUpload ?? 0;
      t.equal(aborts, operation === 'CreateMultipartUpload' ? 1 : 0);
    });
  });
}

t.test('an error in status 200 on complete is a failure that is tried again', async (t) => {
  const opened = await openStubStore(t);
  const action = { kind: 'error-in-ok', code: 'InternalError' } as const;
  opened.stub.fault({ operation: 'CompleteMultipartUpload', times: 3, action });
  await storeObject(opened.store, 'o/p/n', patternBytes(large), plain);
  t.equal(opened.stub.counts().CompleteMultipartUpload, 4);
  await stored(t, opened, large);
});

t.test('a refusal is not tried again, and leaves nothing', async (t) => {
  for (const [operation, size] of writes) {
    for (const action of [denied, { kind: 'error', status: 501, code: 'NotImplemented' }] as const) {
      const opened = await openStubStore(t);
      opened.stub.fault({ operation, action });
      await t.rejects(storeObject(opened.store, 'o/p/n', patternBytes(size), plain), {
        message: new RegExp(`S3 failed at ${operation} of "o/p/n": ${action.status} ${action.code}`),
      });
      const requests = opened.stub.counts()[operation] ?? 0;
      t.ok(operation === 'UploadPart' ? requests <= 4 : requests === 1, `${requests} ${operation}`);
      nothingLeft(t, opened);
    }
  }
});

t.test('what fails for too long is given up, and leaves nothing', async (t) => {
  for (const action of [slowDown, { kind: 'reset', stage: 'after-work' }, { kind: 'hang' }] as const) {
    await forEachWrite(async (operation, size) => {
      const opened = await openStubStore(t, { timing: { request: 2_000, quiet: 600, answered } });
      const fault = opened.stub.fault({ operation, action });
      const storing = storeObject(opened.store, 'o/p/n', patternBytes(size), plain);
      // a complete whose answer was lost is found to have worked
      if (operation === 'CompleteMultipartUpload' && action.kind === 'reset') {
        await storing;
        await stored(t, opened, size);
        return;
      }
      await t.rejects(storing, { message: /S3 failed at/ });
      t.ok(fault.hits >= 2, `${fault.hits} ${operation}`);
      nothingLeft(t, opened);
    });
  }
});

t.test('nothing is tried again once the signal is aborted, and nothing is left', async (t) => {
  for (const [operation, size] of writes) {
    for (const stage of ['before-body', 'after-body', 'after-work'] as const) {
      const opened = await openStubStore(t, { timing: { quiet: 10_000, answered } });
      const { stub, store } = opened;
      const fault = stub.fault({ operation, action: { kind: 'hang', stage } });
      const controller = new AbortController();
      const storing = storeObject(store, 'o/p/n', patternBytes(size), plain, controller.signal);
      const settled = t.rejects(storing, { message: 'gone' }, `${operation} ${stage}`);
      // all four parts are under way at once
      const requests = operation === 'UploadPart' ? 4 : 1;
      while (fault.hits < requests) await sleep(1);
      controller.abort(new Error('gone'));
      await settled;
      t.equal(stub.counts()[operation], requests);
      nothingLeft(t, opened);
    }
  }
});

t.test('what is begun while the signal is aborted is waited for, and taken back', async (t) => {
  for (const [operation, size] of writes) {
    const opened = await openStubStore(t, { timing: { settle: 10_000 } });
    const { stub, store } = opened;
    // a look for what the request has made would come too early
    const fault = stub.fault({ operation, times: 1, action: { kind: 'delay', ms: 300 } });
    const controller = new AbortController();
    const storing = storeObject(store, 'o/p/n', patternBytes(size), plain, controller.signal);
    const settled = t.rejects(storing, { message: 'gone' }, operation);
    while (fault.hits === 0) await sleep(1);
    controller.abort(new Error('gone'));
    await settled;
    t.equal(stub.counts().ListMultipartUploads, undefined, 'nothing had to be looked for');
    nothingLeft(t, opened);
    // not a moment later either
    await sleep(500);
    nothingLeft(t, opened);
  }
});

t.test('a pause before another attempt ends with the signal', async (t) => {
  const opened = await openStubStore(t, { timing: { firstPause: 1e9, longestPause: 1e9, request: 2e9 } });
  const fault = opened.stub.fault({ operation: 'PutObject', action: slowDown });
  const controller = new AbortController();
  const storing = storeObject(opened.store, 'o/p/n', patternBytes(small), plain, controller.signal);
  const settled = t.rejects(storing, { message: 'gone' });
  while (fault.hits === 0) await sleep(1);
  controller.abort(new Error('gone'));
  await settled;
  t.equal(opened.stub.counts().PutObject, 1);
  nothingLeft(t, opened);
});

t.test('an abort closes the connections of what is under way', async (t) => {
  const opened = await openStubStore(t, { timing: { quiet: 10_000, answered } });
  const { stub, store } = opened;
  // a server that doesn't read doesn't see a connection close
  const fault = stub.fault({ operation: 'UploadPart', action: { kind: 'hang', stage: 'after-body' } });
  const writer = await store.create('o/p/n', plain, never);
  const part = partOf(patternBytes(stubPartBytes));
  const writing = Promise.allSettled([
    writer.writePart(part),
    writer.writePart(part),
    writer.writePart(part),
  ]);
  while (fault.hits < 3) await sleep(1);
  t.equal(stub.openConnections(), 3 + 1, 'and one that began the upload');
  await writer.abort();
  for (const { status } of await writing) t.equal(status, 'rejected');
  // the abort itself has opened one
  while (stub.openConnections() > 1) await sleep(1);
  t.equal(stub.counts().UploadPart, 3);
  nothingLeft(t, opened);
});

t.test('an object that a lost answer made visible is taken back when the writer fails', async (t) => {
  for (const [operation, size] of [
    ['PutObject', small],
    ['CompleteMultipartUpload', large],
  ] as const) {
    const opened = await openStubStore(t);
    const { stub } = opened;
    stub.fault({ operation, times: 1, action: { kind: 'reset', stage: 'after-work' } });
    stub.fault({ operation, after: 1, action: { ...denied, stage: 'before-body' } });
    // a HeadObject that can't tell leaves the complete undecided
    stub.fault({ operation: 'HeadObject', times: 1, action: denied });
    await t.rejects(storeObject(opened.store, 'o/p/n', patternBytes(size), plain), {
      message: /403 AccessDenied/,
    });
    t.equal(stub.counts()[operation], 2);
    t.strictSame(stub.objects(), []);
    t.strictSame(await untilEmpty(() => stub.openUploads()), []);
  }
});

t.test('an object of another writer is not taken for ours, although it is as long', async (t) => {
  const { stub, store } = await openStubStore(t);
  const bytes = patternBytes(2 * stubPartBytes);
  await storeObject(store, 'o/p/n', bytes, plain);
  // the upload is gone although the first complete did nothing
  stub.fault({
    operation: 'CompleteMultipartUpload',
    times: 1,
    action: { kind: 'reset', stage: 'before-body' },
  });
  const writer = await store.create('o/p/n', plain, never);
  await writer.writePart(partOf(bytes.subarray(0, stubPartBytes)));
  await writer.writePart(partOf(bytes.subarray(stubPartBytes)));
  for await (const upload of store.listOpenUploads(never)) await store.abortUpload(upload, never);
  await t.rejects(writer.complete(emptyPart), { message: /NoSuchUpload/ });
});

t.test('parts of an upload that was dropped fail at once', async (t) => {
  const opened = await openStubStore(t);
  const { stub, store } = opened;
  const writer = await store.create('o/p/n', plain, never);
  const part = partOf(patternBytes(stubPartBytes));
  await writer.writePart(part);
  for await (const upload of store.listOpenUploads(never)) await store.abortUpload(upload, never);
  await t.rejects(writer.writePart(part), { message: /404 NoSuchUpload/ });
  t.equal(stub.counts().UploadPart, 2);
  await t.rejects(writer.complete(part), { message: /404 NoSuchUpload/ });
  await writer.abort();
  t.equal(stub.counts().CompleteMultipartUpload, undefined);
  nothingLeft(t, opened);
});

/** What Ceph answers to the completion of an upload that is no more. */
const stillBusy = { kind: 'error', status: 500, code: 'InternalError' } as const;

t.test('an upload that was dropped is given up, although the server says 500', async (t) => {
  const opened = await openStubStore(t);
  const { stub, store } = opened;
  const writer = await store.create('o/p/n', plain, never);
  await writer.writePart(partOf(patternBytes(stubPartBytes)));
  for await (const upload of store.listOpenUploads(never)) await store.abortUpload(upload, never);
  stub.fault({ operation: 'CompleteMultipartUpload', action: stillBusy });
  await t.rejects(writer.complete(emptyPart), { message: /404 NoSuchUpload/ });
  t.equal(stub.counts().CompleteMultipartUpload, 2);
  await writer.abort();
  nothingLeft(t, opened);
});

t.test('an upload that was completed is there, although the server says 500 from then on', async (t) => {
  const opened = await openStubStore(t);
  const { stub, store } = opened;
  stub.fault({
    operation: 'CompleteMultipartUpload',
    times: 1,
    action: { ...stillBusy, stage: 'after-work' },
  });
  const always = stub.fault({ operation: 'CompleteMultipartUpload', after: 1, action: stillBusy });
  await storeObject(store, 'o/p/n', patternBytes(large), plain);
  t.equal(always.hits, 1);
  await stored(t, opened, large);
});

t.test('an open upload is not aborted where its parts can not be listed', async (t) => {
  for (const action of [null, denied]) {
    const opened = await openStubStore(t);
    opened.stub.fault({ operation: 'CompleteMultipartUpload', times: 4, action: stillBusy });
    if (action !== null) opened.stub.fault({ operation: 'ListParts', action });
    await storeObject(opened.store, 'o/p/n', patternBytes(large), plain);
    t.equal(opened.stub.counts().CompleteMultipartUpload, 5);
    await stored(t, opened, large);
  }
});

t.test('a clock that is wrong is set once', async (t) => {
  const skewed = { kind: 'error', status: 403, code: 'RequestTimeTooSkewed' } as const;
  for (const [operation, size] of writes.filter(([name]) => name !== 'UploadPart')) {
    const once = await openStubStore(t);
    once.stub.fault({ operation, times: 1, action: skewed });
    await storeObject(once.store, 'o/p/n', patternBytes(size), plain);
    t.equal(once.stub.counts()[operation], 2);
    await stored(t, once, size);

    const always = await openStubStore(t);
    always.stub.fault({ operation, action: skewed });
    await t.rejects(storeObject(always.store, 'o/p/n', patternBytes(size), plain), { message: /TooSkewed/ });
    t.equal(always.stub.counts()[operation], 2);
    nothingLeft(t, always);
  }
});

t.test('what can not be taken back is logged, and abort does not reject', async (t) => {
  const opened = await openStubStore(t, { timing: { cleanup: 500 } });
  const { stub, store, log } = opened;
  stub.fault({ operation: 'AbortMultipartUpload', action: slowDown });
  const writer = await store.create('o/p/n', plain, never);
  await writer.writePart(partOf(patternBytes(stubPartBytes)));
  await writer.abort();
  t.equal(stub.openUploads().length, 1);
  t.equal(log.failures.length, 1);
  t.match(log.failures[0], /could not be cleaned up/);
  t.match(log.failures[0], /o\/p\/n/);
});

t.test('who fails does not wait for what a silent store leaves, which is taken back behind', async (t) => {
  const opened = await openStubStore(t, { timing: { quiet, answered } });
  const { stub, store } = opened;
  const writer = await store.create('o/p/n', plain, never);
  await writer.writePart(partOf(patternBytes(stubPartBytes)));
  const silent = stub.fault({ operation: 'AbortMultipartUpload', action: { kind: 'hang' } });
  await t.rejects(writer.complete({ ...partOf(patternBytes(1)), crc32: 1 }), { message: /BadDigest/ });
  while (silent.hits === 0) await sleep(1);
  t.equal(stub.openUploads().length, 1, 'the store has yet to answer');
  silent.remove();
  // waits for it
  await store.close();
  nothingLeft(t, opened);
});

t.test('a closing store leaves to the janitor what does not end', async (t) => {
  const opened = await openStubStore(t);
  const { stub, store, log } = opened;
  const writer = await store.create('o/p/n', plain, never);
  await writer.writePart(partOf(patternBytes(stubPartBytes)));
  stub.fault({ operation: 'AbortMultipartUpload', action: { kind: 'hang' } });
  void writer.abort();
  await store.close();
  t.match(log.failures, [/leaves failed objects to the janitor/]);
  t.equal(stub.openUploads().length, 1);
});

t.test('an abort is looked after until there is no upload', async (t) => {
  for (const action of [slowDown, { kind: 'reset', stage: 'after-work' }, { kind: 'hang' }] as const) {
    const opened = await openStubStore(t, { timing: { quiet, answered } });
    opened.stub.fault({ operation: 'AbortMultipartUpload', times: 2, action });
    opened.stub.fault({ operation: 'ListParts', times: 1, action: slowDown });
    const writer = await opened.store.create('o/p/n', plain, never);
    await writer.writePart(partOf(patternBytes(stubPartBytes)));
    await writer.abort();
    nothingLeft(t, opened);
  }
});

t.test('other requests are tried again as well', async (t) => {
  const { stub, store } = await openStubStore(t, { timing: { quiet, answered } });
  await storeObject(store, 'o/p/n', patternBytes(small), plain);
  const calls: Partial<Record<OperationName, () => Promise<unknown>>> = {
    HeadObject: () => store.head('o/p/n', never),
    GetObject: () => all(store.read('o/p/n', null, never)),
    ListObjectsV2: () => all(store.list('o/', never)),
    ListMultipartUploads: () => all(store.listOpenUploads(never)),
    HeadBucket: () => store.ready(never),
    DeleteObject: () => store.delete('o/p/none', never),
  };
  const check = async (operation: OperationName, call: () => Promise<unknown>): Promise<void> => {
    let before = stub.counts()[operation] ?? 0;
    for (const action of [slowDown, { kind: 'reset' }, { kind: 'hang' }] as const) {
      const fault = stub.fault({ operation, times: 1, action });
      await call();
      fault.remove();
      t.equal(stub.counts()[operation], before + 2, `${operation} ${action.kind}`);
      before += 2;
    }
    const fault = stub.fault({ operation, action: denied });
    await t.rejects(call(), { message: new RegExp(`S3 failed at ${operation}.*403`) });
    t.equal(fault.hits, 1, operation);
    fault.remove();
  };
  // one after the other: a refused HeadBucket lists, to hear why
  for (const entry of Object.entries(calls) as [OperationName, () => Promise<unknown>][])
    await check(...entry);
});

t.test('a server that can not be reached is given up, and there is nothing to take back', async (t) => {
  const closed = await openStubStore(t);
  await closed.stub.close();
  const opened = await openStubStore(t, { endpoint: closed.stub.endpoint, timing: { request: 2_000 } });
  const refused = { message: /ECONNREFUSED/ };
  await Promise.all([
    t.rejects(opened.store.ready(never), refused),
    forEachWrite(async (_, size) => {
      await t.rejects(storeObject(opened.store, 'o/p/n', patternBytes(size), plain), refused);
    }),
  ]);
  t.strictSame(opened.log.failures, []);
});

t.test('random faults: every object is right or not there', async (t) => {
  const opened = await openStubStore(t, {
    stub: { seed: 7 },
    timing: { request: 10_000, quiet: 300, answered },
  });
  const { stub, store, log } = opened;
  const actions: FaultAction[] = [
    slowDown,
    { kind: 'error', status: 500, code: 'InternalError', stage: 'after-work' },
    { kind: 'reset', stage: 'before-body' },
    { kind: 'reset', stage: 'after-work' },
    { kind: 'reset-in-body', bytes: 20_000 },
    { kind: 'truncate' },
    { kind: 'hang', stage: 'after-work' },
  ];
  for (const action of actions) stub.fault({ probability: 0.03, action });
  const refusals = stub.fault({ operation: 'UploadPart', probability: 0.02, action: denied });
  const random = seededRandom(11);
  const sizes = [0, 1, stubPartBytes - 1, stubPartBytes, stubPartBytes + 1];
  const ends = { right: 0, failed: 0 };
  let next = 0;
  await Promise.all(
    Array.from({ length: 10 }, async () => {
      while (next < 200) {
        const key = `o/p/${next++}`;
        const size = random() < 0.5 ? sizes[Math.floor(random() * sizes.length)] : undefined;
        const bytes = patternBytes(size ?? Math.floor(random() * 5 * stubPartBytes));
        const outcome = await storeObject(store, key, bytes, plain).then(
          () => 'right' as const,
          () => 'failed' as const,
        );
        ends[outcome]++;
        const object = stub.objects().find((found) => found.key === key);
        if (outcome === 'right') t.ok(object?.bytes?.equals(bytes), key);
        else t.equal(object, undefined, key);
      }
    }),
  );
  t.comment(JSON.stringify({ ...ends, refusals: refusals.hits, counts: stub.counts() }));
  t.equal(ends.right + ends.failed, 200);
  t.ok(ends.right > 130);
  t.ok(ends.failed > 0);
  t.strictSame(await untilEmpty(() => stub.openUploads()), []);
  t.strictSame(log.failures, []);
});
