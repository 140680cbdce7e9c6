/** Plans are objects. A single gateway also keeps its own in memory until they end, and must notice every end. */
import t, { type Test } from 'tap';
import { draftFile } from '#gateway/files/file-draft.ts';
import { type DirectPlan, planKey, plannedAtOf } from '#gateway/plans/direct-plan.ts';
import { createUuidV7 } from '#kernel/ids/uuid-v7.ts';
import { createFileSystemStore } from '#objects/file-system/file-system-store.ts';
import { plansOn } from '../services/direct-uploads.ts';
import { testDeployment } from '../services/new-file.ts';

const { signal } = new AbortController();
const newId = createUuidV7();
const ownerId = 'a1b2c3d4-0000-4000-8000-000000000001';

function newPlan(): DirectPlan {
  const file = draftFile(
    { fileName: 'ä plan.txt', contentType: undefined },
    { id: newId(), deploymentId: testDeployment, ownerId, owner: undefined, projectSlug: 'demo' },
  );
  const plannedAt = plannedAtOf(file.name);
  return { file, size: 3, partBytes: 5, uploadId: null, checksums: false, crc32c: 'AAAAAA==', plannedAt };
}

async function setUp(t: Test, singleGateway: boolean) {
  const store = await createFileSystemStore({ root: t.testdir() });
  const reads: string[] = [];
  const counted = {
    ...store,
    readWhole(...[key, ...args]: Parameters<typeof store.readWhole>) {
      reads.push(key);
      return store.readWhole(key, ...args);
    },
  };
  const plans = plansOn(counted, undefined, singleGateway);
  const load = ({ file }: DirectPlan) => plans.load(plans.addressOf(file), signal);
  return { store, counted, plans, reads, load };
}

t.test('a plan is the same from memory and from the store', async (t) => {
  const { plans, counted, reads, load } = await setUp(t, true);
  const plan = newPlan();
  await plans.save(plan, signal);
  t.strictSame(await load(plan), plan);
  t.strictSame(reads, []);
  const other = plansOn(counted, undefined, false);
  t.strictSame(await other.load(other.addressOf(plan.file), signal), plan);
  t.strictSame(reads, [planKey(other.addressOf(plan.file))]);
});

t.test('several gateways read each plan: another one may have ended it', async (t) => {
  const { plans, store, load } = await setUp(t, false);
  const plan = newPlan();
  await plans.save(plan, signal);
  await plansOn(store).close(plans.addressOf(plan.file), signal);
  t.equal(await load(plan), null);
});

t.test('closed plans are forgotten', async (t) => {
  const { plans, load } = await setUp(t, true);
  const [dropped, deleted] = [newPlan(), newPlan()];
  for (const plan of [dropped, deleted]) await plans.save(plan, signal);
  await plans.close(plans.addressOf(dropped.file), signal);
  t.equal(await load(dropped), null);
  await plans.closeFor([deleted.file], signal);
  t.equal(await load(deleted), null);
});

t.test('a plan that is closed while it is being saved is not kept', async (t) => {
  const { store, counted } = await setUp(t, true);
  let closing: Promise<void> | undefined;
  const plan = newPlan();
  const slow: typeof counted = {
    ...counted,
    async create(key, ...args) {
      const writer = await store.create(key, ...args);
      if (key !== planKey(plans.addressOf(plan.file))) return writer;
      const complete = writer.complete.bind(writer);
      writer.complete = async (last) => {
        await complete(last);
        // an account is deleted before its gateway has the answer of the store
        closing = plans.close(plans.addressOf(plan.file), signal);
        await closing;
      };
      return writer;
    },
  };
  const plans = plansOn(slow, undefined, true);
  await plans.save(plan, signal);
  t.ok(closing);
  t.equal(await plans.load(plans.addressOf(plan.file), signal), null);
});

t.test('a plan that could not be saved is not kept', async (t) => {
  const { counted } = await setUp(t, true);
  const create = () => Promise.reject(new Error('the store is away'));
  const plans = plansOn({ ...counted, create }, undefined, true);
  const plan = newPlan();
  await t.rejects(plans.save(plan, signal), { message: 'the store is away' });
  t.equal(await plans.load(plans.addressOf(plan.file), signal), null);
});

t.test('ended plans do not count while they are removed', async (t) => {
  const { plans, load } = await setUp(t, true);
  const [open, ended] = [newPlan(), newPlan()];
  for (const plan of [open, ended]) await plans.save(plan, signal);
  plans.end(ended, false);
  t.match(await plans.plansOf(ownerId, signal), [{ name: open.file.name }]);
  t.equal((await plans.plansOf(ownerId, signal)).length, 1);
  t.equal(await plans.bytesOf(ownerId, signal), open.size);
  t.ok(await load(ended), 'it is read from the store until it is removed');
  await plans.settle();
  t.equal(await load(ended), null);
});
