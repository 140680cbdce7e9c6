import { setTimeout as sleep } from 'node:timers/promises';
import type { Job } from './import-spaces.ts';
import type { Sluice } from './start-sluice.ts';

/** The job of an import when it is over. */
export async function untilOver({ baseUrl, token }: Sluice, id: string): Promise<Job> {
  for (;;) {
    const answer = await fetch(`${baseUrl}/_jobs_/${id}`, { headers: { authorization: `Bearer ${token}` } });
    const job = (await answer.json()) as Job;
    if (['done', 'failed', 'cancelled'].includes(job.state)) return job;
    await sleep(50);
  }
}
