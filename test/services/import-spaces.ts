import type { Test } from 'tap';
import { eventuallyEqual } from './eventually-equal.ts';
import { type QueryCall, type QueryHarness, spaceOf } from './query-harness.ts';
import { type FieldInput, structureOf } from './record-client.ts';

// biome-ignore lint/suspicious/noExplicitAny: JSON of a job
export type Job = any;
type Sent = string | Uint8Array;

/** Makes spaces with some fields, and imports into them. */
export function importSpaces(t: Test, harness: QueryHarness) {
  return (slug: string, fields: readonly FieldInput[]) => made(t, harness, slug, fields);
}

async function made(t: Test, harness: QueryHarness, slug: string, fields: readonly FieldInput[]) {
  const structure = structureOf('p', slug, [...fields]);
  const space = spaceOf(harness, 'p', slug, structure);
  await space.make();
  const begin = (body: Sent, query = '', headers: QueryCall['headers'] = {}) =>
    harness.call({
      method: 'POST',
      path: `/p/${slug}/_import_`,
      query,
      body,
      headers: { 'content-type': 'text/csv', ...headers },
    });
  const over = async (id: string): Promise<Job> => {
    let job: Job;
    const state = async (): Promise<boolean> => {
      job = (await harness.call({ path: `/_jobs_/${id}` })).body;
      return ['done', 'failed', 'cancelled'].includes(job.state);
    };
    await eventuallyEqual(t, state, true, 'it is over');
    return job;
  };
  const run = async (body: Sent, query = '', headers: QueryCall['headers'] = {}): Promise<Job> => {
    const { status, body: job, problems } = await begin(body, query, headers);
    if (status !== 202) throw new Error(`${status} ${problems.join()}`);
    return over(job.id);
  };
  const all = async () => (await space.find()).body as Record<string, unknown>[];
  return { ...space, begin, over, run, all };
}
