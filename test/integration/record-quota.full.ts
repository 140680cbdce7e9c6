/** MAX_STORED_RECORD_BYTES: what an account may store of records. */
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { openQueryHarness, spaceOf } from '../services/query-harness.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';

const fields = fieldsOf('text TEXT');
const refused = { status: 403, code: 'quota_exceeded' };
const open = (singleWriter: boolean) =>
  openQueryHarness({ singleWriter, config: { maxStoredRecordBytes: 10_000 } });

/** Asks until there is an answer of this status: the store is asked again after a while. */
async function until(status: number, ask: () => Promise<{ readonly status: number }>): Promise<boolean> {
  for (let i = 0; i < 100; i++) {
    if ((await ask()).status === status) return true;
    await sleep(200);
  }
  return false;
}

t.test('an account stores so many bytes of records, of all spaces together', async (t) => {
  const harness = await open(true);
  t.teardown(() => harness.close());
  const one = spaceOf(harness, 'quota', 'one', fields);
  const two = spaceOf(harness, 'quota', 'two', fields);
  const { id } = (await one.insertOne({ text: 'x'.repeat(4000) })).body;
  t.equal((await two.insert([{ text: 'ä'.repeat(1000) }, { text: 'short' }])).status, 200);
  t.match(await one.insertOne({ text: 'x'.repeat(4000) }), refused);
  t.match(await two.insert([{ text: 'x'.repeat(2000) }, { text: 'x'.repeat(2000) }]), refused);
  t.match(await one.updateOneById(id, { text: 'x'.repeat(4000) }), refused, 'an update may make it larger');
  t.equal((await one.find()).body.length, 1, 'what was refused is not there');
  t.match(await one.updateOneById(id, { text: 'y' }), { status: 200, body: { text: 'y' } });
  // and the store knows that it is smaller now
  t.ok(await until(200, () => one.insertOne({ text: 'x'.repeat(6000) })));
  harness.forget();
  t.match(await one.insertOne({ text: 'x'.repeat(3000) }), refused, 'a new process asks the store');
});

t.test('of several processes each sees what the others wrote when it counts', async (t) => {
  const harness = await open(false);
  t.teardown(() => harness.close());
  const structure = structureOf('quota', 'shared', fields);
  const here = spaceOf(harness, 'quota', 'shared', structure);
  const there = spaceOf(harness.another(), 'quota', 'shared', structure);
  t.equal((await here.insertOne({ text: 'x'.repeat(9000) })).status, 200);
  t.match(await there.insertOne({ text: 'x'.repeat(2000) }), refused);
});
