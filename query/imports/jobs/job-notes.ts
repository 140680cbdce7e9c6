import type { Log } from '#kernel/log/log.ts';
import { type ImportJob, isOver } from './import-job.ts';
import type { JobTable } from './job-table.ts';

/** One job, and its versions on their way to the table. */
export class JobNotes {
  job: ImportJob;
  readonly #table: Pick<JobTable, 'store'>;
  #stored: Promise<void> = Promise.resolve();
  #isStoring = false;

  constructor(job: ImportJob, table: Pick<JobTable, 'store'>) {
    this.job = job;
    this.#table = table;
  }

  /** For the next version. */
  note(change: Partial<ImportJob>): void {
    this.job = { ...this.job, ...change };
  }

  /** Notes it, and resolves when it is stored. */
  store(change: Partial<ImportJob>): Promise<void> {
    const work = this.#stored.then(() => this.#write(change));
    this.#stored = work.catch(() => {});
    return work;
  }

  /** Also says that the job has a process. */
  storeSoon(log: Pick<Log, 'warn'>): void {
    if (this.#isStoring || isOver(this.job)) return;
    this.#isStoring = true;
    this.store({})
      .catch((err: unknown) => log.warn({ err }, 'the progress of an import is not stored'))
      .finally(() => {
        this.#isStoring = false;
      });
  }

  async #write(change: Partial<ImportJob>): Promise<void> {
    const next = {
      ...this.job,
      ...change,
      version: this.job.version + 1,
      updatedAt: new Date().toISOString(),
    };
    await this.#table.store(next);
    // what was noted meanwhile comes with the next one
    this.job = { ...this.job, ...change, version: next.version, updatedAt: next.updatedAt };
  }
}
