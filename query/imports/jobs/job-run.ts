import { setTimeout as sleep } from 'node:timers/promises';
import type { UsageCounts } from '#catalogue/usage-counts.ts';
import { settledWithin } from '#kernel/limits/deadline.ts';
import type { FairShare } from '#kernel/limits/fair-share.ts';
import type { Log } from '#kernel/log/log.ts';
import { type ImportJob, isOver, over } from './import-job.ts';
import { isPassing } from './is-passing.ts';
import { JobNotes } from './job-notes.ts';
import type { JobTable } from './job-table.ts';
import { type ImportParts, importRecords, publishAgain, shownError } from './one-import.ts';
import type { ReceivedFiles } from './received-files.ts';

export interface JobRunParts extends ImportParts {
  readonly usage: Pick<UsageCounts, 'add'>;
  readonly log: Pick<Log, 'warn'>;
  readonly now: () => number;
  readonly table: Pick<JobTable, 'store' | 'isToStop'>;
  readonly files: Pick<ReceivedFiles, 'has' | 'pathOf'>;
  /** Imports that run at once. */
  readonly slots: Pick<FairShare, 'take'>;
  /** Aborted when the process ends: the next one goes on. */
  readonly closing: AbortSignal;
  /** Takes away what a job that is over left. Never rejects. */
  readonly tidy: (job: ImportJob) => Promise<void>;
  /** Absent: as documented. */
  readonly tries?: TryTimes;
}

/**
 * A job that fails for a reason that passes waits before it is tried again, twice as long each time; the last try begins
 * after `during`. Milliseconds.
 */
interface TryTimes {
  readonly pause: number;
  readonly longestPause: number;
  readonly during: number;
}

/** Between two versions of a job in the table, and two looks whether another process has stopped it. Milliseconds. */
const storeEvery = 2000;
const usualTries: TryTimes = { pause: 1000, longestPause: 60_000, during: 24 * 3_600_000 };

/** The work of this process on a job, until that is over. */
export class JobRun {
  readonly #deps: JobRunParts;
  readonly #notes: JobNotes;
  readonly #stop = new AbortController();
  #over: Promise<void> | null = null;

  constructor(deps: JobRunParts, job: ImportJob) {
    this.#deps = deps;
    this.#notes = new JobNotes(job, deps.table);
  }

  get job(): ImportJob {
    return this.#notes.job;
  }

  /** Tries until the job is over, or the process ends. Never rejects. */
  run(): Promise<void> {
    this.#over ??= this.#run();
    return this.#over;
  }

  /** Tries once, and answers whether the job should be tried again. Never rejects. @param lastTry when none follows any more */
  async try(lastTry: number): Promise<boolean> {
    let release: (() => void) | null = null;
    try {
      if (!this.#isPublishing()) release = await this.#deps.slots.take(this.#stop.signal, this.job.ownerId);
      await this.#work();
      return !isOver(this.job);
    } catch (error) {
      return this.#isLeftBy(error, lastTry);
    } finally {
      release?.();
    }
  }

  /** Resolves when it is over, or after a time: its records are there, all or none. @param most milliseconds */
  async cancel(most: number): Promise<void> {
    this.#stop.abort(cancelled);
    await settledWithin(this.run(), most);
  }

  async #run(): Promise<void> {
    const { log, table, closing, now, tidy, tries = usualTries } = this.#deps;
    const stop = (): void => this.#stop.abort(closing.reason);
    if (closing.aborted) stop();
    closing.addEventListener('abort', stop);
    const storing = setInterval(() => {
      this.#notes.storeSoon(log);
      const asked = table.isToStop(this.job.id, closing);
      asked.then((isAsked) => isAsked && this.#stop.abort(cancelled)).catch(() => {});
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

  /** Whether its records are there has to be found out even when nobody wants them any more. */
  #signal(): AbortSignal {
    return this.#isPublishing() ? this.#deps.closing : this.#stop.signal;
  }

  async #work(): Promise<void> {
    const { spaces, files, usage, now } = this.#deps;
    const { id, catalogueId, ownerId, project } = this.job;
    const signal = this.#signal();
    const space = await spaces.find(catalogueId, signal);
    if (space === null) return this.#fail('The record space is gone');
    if (this.#isPublishing()) await publishAgain(this.#deps, this.#notes, space, signal);
    else {
      if (!files.has(id)) return this.#fail('The server that had its file is gone');
      await this.#notes.store({ state: 'running', startedAt: new Date(now()).toISOString() });
      await importRecords(this.#deps, this.#notes, { path: files.pathOf(id), space }, signal);
    }
    const { state, inserted: recordsWritten } = this.job;
    if (state === 'done') usage.add(ownerId, project, { recordsWritten });
  }

  #fail(error: string): Promise<void> {
    return this.#notes.store({ ...over('failed'), error });
  }

  /** Whether the job should be tried again after an error; otherwise its end is stored. Never rejects. */
  async #isLeftBy(err: unknown, lastTry: number): Promise<boolean> {
    const { log, now, closing } = this.#deps;
    const { id: job } = this.job;
    if (closing.aborted) return false;
    const isLeft = now() < lastTry;
    if (this.#isPublishing()) {
      log.warn({ err, job }, 'an import could not be published');
      return isLeft;
    }
    const { aborted: isStopped } = this.#stop.signal;
    if (isLeft && !isStopped && isPassing(err)) {
      log.warn({ err, job }, 'an import is tried again');
      // where this fails, the table says that it runs
      await this.#notes.store({ state: 'waiting' }).catch(() => this.#notes.note({ state: 'waiting' }));
      return true;
    }
    if (!isStopped && shownError(err) === shownError(null)) log.warn({ err, job }, 'an import failed');
    const end = isStopped ? this.#notes.store(over('cancelled')) : this.#fail(shownError(err));
    await end.catch((err: unknown) => log.warn({ err, job }, 'the end of an import is not stored'));
    return false;
  }
}

const cancelled = new Error('the import was cancelled');
