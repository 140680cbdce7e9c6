import { setTimeout as sleep } from 'node:timers/promises';
import { CommandError } from '#kernel/errors/command-error.ts';
import type { RemoteServer } from './remote-server.ts';

/** An import as the server reports it (docs/import-export.md#jobs). */
export interface ImportJob {
  readonly id: string;
  readonly state: 'waiting' | 'running' | 'publishing' | 'done' | 'failed' | 'cancelled';
  readonly project: string;
  readonly space: string;
  readonly format: string;
  readonly bytes: number;
  readonly bytesRead: number;
  readonly inserted: number;
  readonly problems: readonly {
    readonly line: number;
    readonly field: string | null;
    readonly reason: string;
  }[];
  readonly problemCount: number;
  readonly error: string | null;
  readonly createdAt: string;
}

export type FinishedJob = Pick<ImportJob, 'inserted'> & { readonly state: 'done' };

/** Interval of polling a job, and how long to wait without any progress. Milliseconds. */
const lookEvery = 500;
const longestRest = 3_600_000;
const shownProblems = 20;

/** Imports of Parquet files on a server. */
export class RemoteJobs {
  readonly #server: RemoteServer;
  readonly #last: ReadonlyMap<string, ImportJob>;

  private constructor(server: RemoteServer, last: ReadonlyMap<string, ImportJob>) {
    this.#server = server;
    this.#last = last;
  }

  /** The current state of imports. */
  static async of(server: RemoteServer): Promise<RemoteJobs> {
    const last = new Map<string, ImportJob>();
    // the newest first
    for await (const job of server.list<ImportJob>('/_jobs_?', 'jobs')) {
      const key = keyOf(job.project, job.space, job.bytes);
      if (job.format === 'parquet' && !last.has(key)) last.set(key, { ...job, problems: [] });
    }
    return new RemoteJobs(server, last);
  }

  /** The last import of a file of this size into a space; null: there is none. */
  last(project: string, space: string, bytes: number): ImportJob | null {
    return this.#last.get(keyOf(project, space, bytes)) ?? null;
  }

  /** Resolves when the job is done. If it fails, rejects with a CommandError that lists its problems. */
  async finished(job: ImportJob, show: (job: ImportJob) => void): Promise<FinishedJob> {
    let now = job;
    for (let changedAt = performance.now(); ; ) {
      const { state, inserted } = now;
      if (state === 'done') return { state, inserted };
      if (state === 'failed' || state === 'cancelled') throw failure(now);
      if (performance.now() - changedAt > longestRest)
        throw new CommandError(`${nameOf(now)} is ${state}, without progress: run the command again later`);
      await sleep(lookEvery, undefined, { signal: this.#server.signal });
      const next = await this.#server.json<ImportJob>(`/_jobs_/${job.id}`);
      if (next.state !== state || next.bytesRead !== now.bytesRead) changedAt = performance.now();
      now = next;
      show(now);
    }
  }
}

function keyOf(...parts: readonly [project: string, space: string, bytes: number]): string {
  return JSON.stringify(parts);
}

function nameOf({ id, project, space }: ImportJob): string {
  return `the import ${id} into ${project}/${space}`;
}

function failure(job: ImportJob): CommandError {
  const { state, error, problems, problemCount } = job;
  const lines = problems
    .slice(0, shownProblems)
    .map(({ line, field, reason }) => `\n  record ${line}${field === null ? '' : `, ${field}`}: ${reason}`);
  const more = problemCount > lines.length ? `\n  and ${problemCount - lines.length} more` : '';
  return new CommandError(`${nameOf(job)} ${state}: ${error ?? ''}${lines.join('')}${more}`);
}
