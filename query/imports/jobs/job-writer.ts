import type { Log } from '#kernel/log/log.ts';
import { type ImportJob, isOver } from './import-job.ts';
import type { JobTable } from './job-table.ts';

/** The current version of a job, and the writes of its versions to the table, one after the other. */
export class JobWriter {
  job: ImportJob;
  readonly #table: Pick<JobTable, 'store'>;
  #stored: Promise<void> = Promise.resolve();
  #isStoring = false;

  constructor(job: ImportJob, table: Pick<JobTable, 'store'>) {
    this.job = job;
    this.#table = table;
  }

  /** Changes the job in memory; the next version that is stored has the change. */
  update(change: Partial<ImportJob>): void {
    this.job = { ...this.job, ...change };
  }

  /** Changes the job, and resolves when that version is stored. */
  store(change: Partial<ImportJob>): Promise<void> {
    const work = this.#stored.then(() => this.#write(change));
    this.#stored = work.catch(() => {});
    return work;
  }

  /** Stores the progress, and with it a sign that a process works on the job. */
  storeSoon(log: Pick<Log, 'warn'>): void {
    if (this.#isStoring || isOver(this.job)) return;
    this.#isStoring = true;
    this.store({})
      .catch((err: unknown) => log.warn({ err }, 'the progress of an import could not be stored'))
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
    // a change that was noted during the write is stored with the next version
    this.job = { ...this.job, ...change, version: next.version, updatedAt: next.updatedAt };
  }
}
