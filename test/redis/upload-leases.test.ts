/** The right to write to an upload, between gateways that share a Redis. */
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { openRedis } from '#coordination/redis/open-redis.ts';
import { draftFile } from '#gateway/files/file-draft.ts';
import {
  localLeases,
  redisLeases,
  UploadLeases,
  uncoordinatedLeases,
} from '#gateway/resumable/upload-leases.ts';
import type { UploadState } from '#gateway/resumable/upload-state.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import { patternBytes } from '../integration/object-store-contract.ts';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { startRedis } from '../services/redis.ts';
import { silentLog } from '../services/silent-log.ts';
import { openStubStore } from '../services/stub-store.ts';
import { serveTus, tusStores } from '../services/tus-gateway.ts';

const quick = { connect: 1000, command: 200, backoff: 50 };
const server = await startRedis();
t.teardown(() => server.stop());

const state: UploadState = {
  file: draftFile(
    { fileName: 'f', contentType: undefined },
    { id: 'i', deploymentId: 'd', ownerId: 'o', projectSlug: 'p' },
  ),
  metadata: '',
  length: 2,
  partBytes: 1,
  written: null,
  rest: null,
  savedAt: 0,
};

async function gateway(t: Test) {
  const log = silentLog();
  const redis = await openRedis(server.config, log, quick);
  t.teardown(() => redis.close());
  const shared = redisLeases({ redis, log });
  return { leases: new UploadLeases(shared), redis, shared };
}

const served = async (t: Test, store: ObjectStore) =>
  [
    await serveTus(t, store, { leases: (await gateway(t)).shared }),
    await serveTus(t, store, { leases: (await gateway(t)).shared }),
  ] as const;

t.test('a new gateway takes an upload over at once, and the other saves nothing more', async (t) => {
  const [one, two] = [await gateway(t), await gateway(t)];
  const first = await one.leases.take('upload');
  let taken = 0;
  first.onYield = () => {
    taken++;
  };
  t.equal(await first.maySave(), true);
  const second = await two.leases.take('upload');
  t.equal(await first.maySave(), false);
  t.equal(await first.pin(), false);
  t.equal(taken, 1);
  t.equal(await second.maySave(), true);
  // what it gives back is not its own any more
  first.release();
  await one.redis.get('x');
  t.equal(await second.maySave(), true);
  second.release();
});

t.test('nobody takes over an upload that is being completed', async (t) => {
  const [one, two] = [await gateway(t), await gateway(t)];
  const first = await one.leases.take('whole');
  t.equal(await first.pin(), true);
  let came = false;
  const second = two.leases.take('whole').then((lease) => {
    came = true;
    return lease;
  });
  await sleep(300);
  t.equal(came, false);
  t.equal(await first.maySave(), true);
  first.release();
  const lease = await second;
  t.equal(await lease.maySave(), true);
  lease.release();
});

t.test('a gateway that died keeps nobody out', async (t) => {
  const [one, two] = [await gateway(t), await gateway(t)];
  const first = await one.leases.take('dead');
  await one.redis.close();
  const second = await two.leases.take('dead');
  t.equal(await second.maySave(), true);
  // to whom Redis is away the leases of other gateways are unknown: it goes on
  t.equal(await first.maySave(), true);
  second.release();
  first.release();
});

t.test('who waited for a gateway that died while it completed an upload has the lease then', async (t) => {
  const [one, two] = [await gateway(t), await gateway(t)];
  const first = await one.leases.take('half complete');
  t.equal(await first.pin(), true);
  await one.redis.close();
  const second = await two.leases.take('half complete');
  t.equal(await second.pin(), true);
  second.release();
  first.release();
});

t.test('a gateway remembers what it left of an upload until another one takes it', async (t) => {
  const [one, two] = [await gateway(t), await gateway(t)];
  const leave = async (at: typeof one) => {
    const lease = await at.leases.take('left');
    const { stateBefore } = lease;
    lease.stateAfter = state;
    lease.release();
    return stateBefore;
  };
  t.equal(await leave(one), undefined);
  t.equal(await leave(one), state);
  t.equal(await leave(two), undefined, 'it is not of this gateway');
  t.equal(await leave(one), undefined, 'the other one may have written');
  t.equal(await leave(one), state);
  const silent = await one.leases.take('left');
  silent.release();
  t.equal(await leave(one), undefined, 'a request that says nothing may have changed it');
  await one.redis.remove('sluice:upload:1:left');
  t.equal(await leave(one), undefined, 'nobody knows who had it');
  await one.redis.close();
  t.equal(await leave(one), undefined, 'Redis is away');
});

for (const [name, openStore] of Object.entries(tusStores)) {
  t.test(`${name}: chunks that go to one gateway and another become one file`, async (t) => {
    const store = await openStore(t);
    const [a, b] = await served(t, store);
    const bytes = patternBytes(9 * 50_000);
    const { path } = await a.begin(bytes.byteLength);
    let at = 0;
    for (const { patch } of [a, a, b, a, b, b, a, a, b]) {
      const { status } = await patch(path, at, bytes.subarray(at, at + 50_000));
      at += 50_000;
      t.equal(status, 204);
    }
    t.ok((await b.stored())[0]?.equals(bytes));
  });
}

t.test('a state that is saved late undoes nothing that another gateway has saved', async (t) => {
  const { stub, store } = await openStubStore(t);
  const [a, b] = await served(t, store);
  const bytes = patternBytes(200_000);
  const { path } = await a.begin(bytes.byteLength);
  const late = stub.fault({
    operation: 'PutObject',
    key: /_resumable[^!]*$/,
    times: 1,
    action: { kind: 'delay', ms: 1000, stage: 'after-body' },
  });
  const first = a.patch(path, 0, bytes.subarray(0, 50_000));
  await eventuallyEqual(t, () => late.hits, 1, 'the state is on its way');
  const at = Number((await b.ask(path)).offset);
  t.match(await b.patch(path, at, bytes.subarray(at, 150_000)), { status: 204, offset: '150000' });
  t.ok([204, 409].includes((await first).status));
  t.match(await a.ask(path), { status: 200, offset: '150000' });
  t.equal((await a.patch(path, 150_000, bytes.subarray(150_000))).status, 204);
  t.ok((await a.stored())[0]?.equals(bytes));
});

t.test('a gateway whose state is not saved gives the upload up before its lease ends', async (t) => {
  const { stub, store } = await openStubStore(t);
  const [a, b] = await served(t, store);
  const bytes = patternBytes(200_000);
  const { path } = await a.begin(bytes.byteLength);
  const hanging = { operation: 'PutObject', key: /_resumable[^!]*$/, action: { kind: 'hang' } } as const;
  const fault = stub.fault(hanging);
  const first = a.patch(path, 0, bytes.subarray(0, 50_000));
  await eventuallyEqual(t, () => fault.hits, 1, 'the state is on its way');
  t.equal((await first).status, 503);
  fault.remove();
  t.match(await b.ask(path), { status: 200, offset: '0' });
  t.equal((await b.patch(path, 0, bytes)).status, 204);
  t.ok((await b.stored())[0]?.equals(bytes));
});

t.test('what was saved counts only if no other gateway took over meanwhile', async (t) => {
  const [one, two] = [await gateway(t), await gateway(t)];
  const first = await one.leases.take('stood still');
  const late = first.save(async () => {
    // as it ends for a process that stands still for longer than it lasts
    await one.redis.remove('sluice:upload:1:stood still');
    (await two.leases.take('stood still')).release();
  });
  await t.rejects(late, { code: 'upload_conflict', status: 409 });
  first.release();
});

t.test('a gateway that knows of no other one remembers nothing', async (t) => {
  const leases = new UploadLeases(uncoordinatedLeases);
  for (let i = 0; i < 2; i++) {
    const lease = await leases.take('left');
    t.equal(lease.stateBefore, undefined);
    lease.stateAfter = state;
    lease.release();
  }
});

t.test('a request that is taken over before its first byte ends at once', async (t) => {
  const leases = new UploadLeases(localLeases);
  const first = await leases.take('early');
  const second = leases.take('early');
  let taken = 0;
  first.onYield = () => {
    taken++;
    first.release();
  };
  (await second).release();
  t.equal(taken, 1);
});

t.test('within a gateway the next one waits for the end of the one before', async (t) => {
  const { leases } = await gateway(t);
  const first = await leases.take('here');
  let ended = false;
  first.onYield = () => {
    setTimeout(() => {
      ended = true;
      first.release();
    }, 50);
  };
  const second = await leases.take('here');
  t.equal(ended, true);
  second.release();
});
