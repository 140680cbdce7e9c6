import { setTimeout as sleep } from 'node:timers/promises';
import type { UsageCounts } from '#catalogue/usage-counts.ts';
import { settledWithin } from '#kernel/limits/deadline.ts';
import type { FairShare } from '#kernel/limits/fair-share.ts';
import type { Log } from '#kernel/log/log.ts';
import { type ImportJob, isOver, jobEnd } from './import-job.ts';
import { type ImportParts, importRecords, publishAgain, shownError } from './import-records.ts';
import { isTransient } from './is-transient.ts';
import type { JobTable } from './job-table.ts';
import { JobWriter } from './job-writer.ts';
import type { ReceivedFiles } from './received-files.ts';

export interface JobRunParts extends ImportParts {
  readonly usage: Pick<UsageCounts, 'add'>;
  readonly log: Pick<Log, 'warn'>;
  readonly now: () => number;
  readonly table: Pick<JobTable, 'store' | 'isStopRequested'>;
  readonly files: Pick<ReceivedFiles, 'has' | 'pathOf'>;
  /** Imports that run at once. */
  readonly slots: Pick<FairShare, 'take'>;
  /** Aborted when the process ends: the next process continues. */
  readonly closing: AbortSignal;
  /** Removes the file and the staging table of a job that has ended. Never rejects. */
  readonly tidy: (job: ImportJob) => Promise<void>;
  /** Absent: the documented schedule. */
  readonly tries?: RetrySchedule;
}

/**
 * When a job that failed for a transient reason is tried again: after a pause that doubles each time, and not later than
 * `during`. Milliseconds.
 */
interface RetrySchedule {
  readonly pause: number;
  readonly longestPause: number;
  readonly during: number;
}

/** Between two versions of a job in the table, and two checks whether another process has stopped it. Milliseconds. */
const storeEvery = 2000;
const usualSchedule: RetrySchedule = { pause: 1000, longestPause: 60_000, during: 24 * 3_600_000 };

/** The work of this process on a job, until it ends. */
export class JobRun {
  readonly #deps: JobRunParts;
  readonly #writer: JobWriter;
  readonly #stop = new AbortController();
  #running: Promise<void> | null = null;

  constructor(deps: JobRunParts, job: ImportJob) {
    this.#deps = deps;
    this.#writer = new JobWriter(job, deps.table);
  }

  get job(): ImportJob {
    return this.#writer.job;
  }

  /** Tries until the job or the process ends. Never rejects. */
  run(): Promise<void> {
    this.#running ??= this.#run();
    return this.#running;
  }

  /** Tries once. Returns whether to try again. Never rejects. @param lastTry the time after which no try begins */
  async try(lastTry: number): Promise<boolean> {
    let release: (() => void) | null = null;
    try {
      if (!this.#isPublishing()) release = await this.#deps.slots.take(this.#stop.signal, this.job.ownerId);
      await this.#work();
      return !isOver(this.job);
    } catch (error) {
      return this.#shouldRetry(error, lastTry);
    } finally {
      release?.();
    }
  }

  /** Resolves when the job has ended, with all of its records or none, or after `most` milliseconds. */
  async cancel(most: number): Promise<void> {
    this.#stop.abort(cancelled);
    await settledWithin(this.run(), most);
  }

  async #run(): Promise<void> {
    const { log, table, closing, now, tidy, tries = usualSchedule } = this.#deps;
    const stop = (): void => this.#stop.abort(closing.reason);
    if (closing.aborted) stop();
    closing.addEventListener('abort', stop);
    const storing = setInterval(() => {
      this.#writer.storeSoon(log);
      table
        .isStopRequested(this.job.id, closing)
        .then((isRequested) => isRequested && this.#stop.abort(cancelled))
        .catch(() => {});
    }, storeEvery);
    const lastTry = now() + tries.during;
    let { pause } = tries;
    while (await this.try(lastTry)) {
      await sleep(pause, undefined, { signal: this.#signal() }).catch(() => {});
      pause = Math.min(2 * pause, tries.longestPause);
    }
    clearInterval(storing);
    closing.removeEventListener('abort', stop);
    if (isOver(this.job)) await tidy(this.job);
  }

  #isPublishing(): boolean {
    return this.job.state === 'publishing';
  }

  /** Even a cancelled job has to find out whether its records were published. */
  #signal(): AbortSignal {
    return this.#isPublishing() ? this.#deps.closing : this.#stop.signal;
  }

  async #work(): Promise<void> {
    const { spaces, files, usage, now } = this.#deps;
    const { id, catalogueId, ownerId, project } = this.job;
    const signal = this.#signal();
    const space = await spaces.find(catalogueId, signal);
    if (space === null) return this.#fail('The record space is gone');
    if (this.#isPublishing()) await publishAgain(this.#deps, this.#writer, space, signal);
    else {
      if (!files.has(id)) return this.#fail('The server that had its file is gone');
      await this.#writer.store({ state: 'running', startedAt: new Date(now()).toISOString() });
      await importRecords(this.#deps, this.#writer, { path: files.pathOf(id), space }, signal);
    }
    const { state, inserted: recordsWritten } = this.job;
    if (state === 'done') usage.add(ownerId, project, { recordsWritten });
  }

  #fail(error: string): Promise<void> {
    return this.#writer.store({ ...jobEnd('failed'), error });
  }

  /** Whether to try again after an error; otherwise stores the end of the job. Never rejects. */
  async #shouldRetry(err: unknown, lastTry: number): Promise<boolean> {
    const { log, now, closing } = this.#deps;
    const { id: job } = this.job;
    if (closing.aborted) return false;
    const hasTime = now() < lastTry;
    if (this.#isPublishing()) {
      log.warn({ err, job }, 'an import could not be published');
      return hasTime;
    }
    const { aborted: isStopped } = this.#stop.signal;
    if (hasTime && !isStopped && isTransient(err)) {
      log.warn({ err, job }, 'an import failed, and will be tried again');
      // if this fails, the table still has it as running
      await this.#writer.store({ state: 'waiting' }).catch(() => this.#writer.update({ state: 'waiting' }));
      return true;
    }
    if (!isStopped && shownError(err) === shownError(null)) log.warn({ err, job }, 'an import failed');
    const end = isStopped ? this.#writer.store(jobEnd('cancelled')) : this.#fail(shownError(err));
    await end.catch((err: unknown) => log.warn({ err, job }, 'the end of an import could not be stored'));
    return false;
  }
}

const cancelled = new Error('the import was cancelled');
