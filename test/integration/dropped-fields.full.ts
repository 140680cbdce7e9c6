/** A field of many records is dropped: by one write of the catalogue, with its values cleared later, some at a time. */
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { uuidV5 } from '#kernel/ids/uuid-v5.ts';
import { sweepLeft } from '#query/space/removals.ts';
import { projectsOf } from '../services/projects-client.ts';
import { queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { fieldsOf } from '../services/record-client.ts';
import { silentLog } from '../services/silent-log.ts';

const { signal } = new AbortController();
const count = 45_000;
/** Called with each UPDATE that clears values, before the engine gets it. */
let onClear: () => Promise<void> = async () => {};
const harness = await queryHarnessFor(t, {
  wrap: (db) => ({
    ...db,
    async command(statement) {
      if (statement.sql.includes('mapFilter')) await onClear();
      return db.command(statement);
    },
  }),
  config: { maxRecordsBytes: 64 * 1024 ** 2 },
});

const fields = fieldsOf('n NUMBER, word TEXT');
const { dropField } = projectsOf(harness);

/** Records that still have a value in the slot of the second field. */
async function left(space: string): Promise<number> {
  const id = uuidV5('owner', 'many', space);
  const sql = `SELECT 1 FROM sluice.records WHERE space = '${id}' AND mapContains(_doc, 't0')`;
  return (await harness.db.rows({ sql })).length;
}

async function fill(space: string): Promise<ReturnType<typeof spaceOf>> {
  const records = spaceOf(harness, 'many', space, fields);
  const body = Array.from({ length: count }, (_, n) => ({ n, word: `word ${n}` }));
  t.equal((await records.insert(body)).status, 200);
  return records;
}

t.test('the answer waits for no record, and other records are written meanwhile', async (t) => {
  await fill('s');
  const other = spaceOf(harness, 'many', 'other', fields);
  let cleared = 0;
  let go: () => void = () => {};
  const gate = new Promise<void>((resolve) => {
    go = resolve;
  });
  onClear = async () => {
    cleared++;
    await gate;
  };
  t.equal((await dropField('many', 's', 'word')).status, 204);
  t.equal((await other.insertOne({ n: 1, word: 'x' })).status, 200);
  const stored = { 'use-pre-stored-structure': 'true' };
  const call = (query: string) => harness.call({ path: '/many/s', query, headers: stored });
  const [first] = (await call('n=7')).body;
  t.strictSame(Object.keys(first), ['id', 'n', 'createdAt', 'updatedAt'], 'the value is seen by nobody');
  t.equal((await call('word=word%207')).status, 400);
  t.equal(await left('s'), count, 'and is still there');
  go();
  while ((await left('s')) > 0) await sleep(10);
  t.equal(cleared, 3, '20,000 records at a time');
  t.equal((await call('n=44999')).body.length, 1);
  t.equal((await call('n=44999')).body[0].n, 44_999, 'other values stay');
});

t.test('what a process that ended left is cleared by the next start', async (t) => {
  await fill('ended');
  let cleared = 0;
  onClear = async () => {
    if (++cleared === 2) throw new Error('injected: the process ends');
  };
  t.equal((await dropField('many', 'ended', 'word')).status, 204);
  while (cleared < 2) await sleep(10);
  onClear = async () => {};
  await harness.restart();
  t.equal(await left('ended'), count - 20_000);
  const log = silentLog();
  await sweepLeft({ store: harness.store, catalogue: harness.catalogue, log }, signal);
  t.equal(await left('ended'), 0);
  t.strictSame(log.failures, []);
});
