/** What becomes of an import that was cut off while its records became records of their space. */
import t from 'tap';
import { uuidV5 } from '#kernel/ids/uuid-v5.ts';
import type { ImportJob } from '#query/imports/jobs/import-job.ts';
import { type ImportParts, publishAgain } from '#query/imports/jobs/import-records.ts';
import { JobWriter } from '#query/imports/jobs/job-writer.ts';
import { StagedRecords } from '#records/sql/staged-records.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { importSpaces } from '../services/import-spaces.ts';
import { queryHarnessFor, testDatabase } from '../services/query-harness.ts';
import { fieldsOf } from '../services/record-client.ts';

const harness = await queryHarnessFor(t, { freshness: { heardAfter: 0 } });
const made = importSpaces(t, harness);
const { signal } = new AbortController();

/** A space with a record, an import of four, and what a process finds that starts when `attached` of them are there. */
async function cutOff(slug: string, attached: number) {
  const space = await made(slug, fieldsOf('n NUMBER'));
  await space.insert([{ n: 0 }]);
  const { id } = await space.run('n\n1\n2\n3\n4\n');
  const { db, table } = harness.store;
  const [row] = await db.rows<{ content: string }>({
    sql: `SELECT content FROM ${testDatabase}.jobs FINAL WHERE id = '${id}'`,
  });
  const entry = await harness.catalogue.find(uuidV5('owner', 'p', slug), signal);
  const recordsId = entry?.recordsId ?? '';
  const staged = new StagedRecords(testDatabase, table, recordsId, id);
  // the import takes its own away behind the end of its job
  const there = `SELECT 1 FROM system.tables WHERE concat(database, '.', name) = '${staged.name}'`;
  await eventuallyEqual(t, async () => (await db.rows({ sql: there })).length, 0, 'the table is gone');
  await db.command(staged.create());
  const imported = (await space.all()).filter(({ n }) => n !== 0);
  const lines = Buffer.from(imported.map((record) => JSON.stringify([recordsId, record.id])).join('\n'));
  await db.insert({ table: staged.name, columns: ['space', '_id'], lines, home: staged.home });
  for (const { id } of imported.slice(attached)) await space.deleteOneById(String(id));
  const job: ImportJob = { ...JSON.parse(row?.content ?? ''), state: 'publishing' };
  const writer = new JobWriter(job, { store: async () => {} });
  // nobody else writes
  const spaces = {
    hold: (_: string, work: (entry: null, own: AbortSignal) => unknown) => work(null, signal),
  };
  const deps = { database: testDatabase, store: harness.store, spaces } as unknown as ImportParts;
  await publishAgain(deps, writer, { id: recordsId } as RecordSpace, signal);
  await db.command(staged.drop());
  harness.forget();
  return { state: writer.job.state, left: (await space.all()).map(({ n }) => n) };
}

t.test('all of its records are there: it is done', async (t) => {
  t.strictSame(await cutOff('all', 4), { state: 'done', left: [0, 1, 2, 3, 4] });
});

t.test('some are: they are taken away, and it begins again', async (t) => {
  t.strictSame(await cutOff('some', 2), { state: 'waiting', left: [0] });
});

t.test('none is: it begins again', async (t) => {
  t.strictSame(await cutOff('none', 0), { state: 'waiting', left: [0] });
});
