import { setTimeout as sleep } from 'node:timers/promises';
import type { UsageCounts } from '#catalogue/usage-counts.ts';
import type { Database } from '#engine/database.ts';
import { idempotencyKeyReused, overloaded } from '#kernel/errors/catalogue.ts';
import { FairShare } from '#kernel/limits/fair-share.ts';
import type { Log } from '#kernel/log/log.ts';
import type { UniqueReservations } from '#records/unique/unique-reservations.ts';
import { type Preview, type PreviewTask, runPreview } from '../thread/preview.ts';
import { type ImportJob, type ImportRequest, isOver, newJob } from './import-job.ts';
import { dropStage, type ImportParts } from './import-records.ts';
import { JobRun, type JobRunParts } from './job-run.ts';
import { JobTable } from './job-table.ts';
import { type ReceivedFile, ReceivedFiles, type ReceivedFilesParts } from './received-files.ts';
import type { ByteSource } from './spool-body.ts';

export interface ImportsParts extends ImportParts, ReceivedFilesParts {
  readonly db: Database;
  readonly reservations: UniqueReservations;
  readonly usage: Pick<UsageCounts, 'add'>;
  readonly log: Pick<Log, 'warn'>;
  /** Characters. */
  readonly largestRecord: number;
  readonly now: () => number;
}

/** Imports that run at once: in a process, and of an account. */
const atOnce = { capacity: 2, share: 1 };
/** Milliseconds after which a job without an update counts as abandoned, and between two searches for such jobs. */
const abandonedAfter = 60_000;
const searchEvery = 30_000;
/** Milliseconds after which a job is given up because the process with its file has not come back. */
const lostAfter = 3_600_000;
/** Milliseconds between two checks whether another process has stopped a job, and after which a cancel stops checking. */
const stopEvery = 250;
const stopsWithin = 10_000;

/** Imports of records (docs/import-export.md). A file is kept on the disk of its process until its import ends. */
export class Imports {
  readonly #deps: ImportsParts;
  readonly #table: JobTable;
  readonly #files: ReceivedFiles;
  readonly #slots = new FairShare({ ...atOnce, queueLimit: 1000, full: 'too many imports are waiting' });
  readonly #previews = new FairShare({
    ...atOnce,
    queueLimit: 100,
    full: 'too many previews are waiting',
  });
  readonly #runParts: JobRunParts;
  readonly #running = new Map<string, JobRun>();
  readonly #closing = new AbortController();
  #search: NodeJS.Timeout | undefined;

  /** Characters that a record may have. */
  readonly largestRecord: number;
  /** Bytes that a file may have. */
  readonly mostBytes: number;

  constructor(deps: ImportsParts) {
    this.largestRecord = deps.largestRecord;
    this.mostBytes = deps.mostBytes;
    this.#deps = deps;
    this.#table = new JobTable(deps);
    this.#files = new ReceivedFiles(deps);
    this.#runParts = {
      ...deps,
      table: this.#table,
      files: this.#files,
      slots: this.#slots,
      closing: this.#closing.signal,
      tidy: (job) => this.#tidy(job),
    };
  }

  /** Call before serving requests: ends imports that were interrupted while they were being published. */
  async open(): Promise<void> {
    if (!this.#deps.store.singleWriter) return;
    for (const job of await this.#table.unfinished(this.#closing.signal))
      if (job.state === 'publishing' && this.#files.has(job.id)) await this.#runOf(job).try(this.#deps.now());
  }

  /** Resumes interrupted imports, now and periodically. */
  started(): void {
    const search = (): void => {
      this.#resumeAbandoned().catch((err: unknown) => {
        if (!this.#closing.signal.aborted)
          this.#deps.log.warn(
            { err },
            'interrupted imports could not be resumed: the next search tries again',
          );
      });
    };
    search();
    this.#search = setInterval(search, searchEvery).unref();
  }

  /**
   * Stores the file of an import, which the caller passes to `submit` or `drop`. Throws 503 when the account has too many
   * unfinished imports, with those whose files are still being received.
   */
  receive(ownerId: string, source: ByteSource): Promise<ReceivedFile> {
    const running = [...this.#running.values()].filter(({ job }) => job.ownerId === ownerId).length;
    return this.#files.receive(ownerId, source, running);
  }

  /** Reads the first records of a file. Throws a 400 if no structure can be inferred from them. */
  preview(ownerId: string, task: PreviewTask, signal: AbortSignal): Promise<Preview> {
    return this.#previews.run(() => runPreview(task, signal), signal, ownerId);
  }

  drop({ id }: ReceivedFile): Promise<void> {
    return this.#files.drop(id);
  }

  /** Resolves when the job is durable. */
  async submit(
    request: ImportRequest,
    file: ReceivedFile,
    signal: AbortSignal,
  ): Promise<{ readonly job: ImportJob; readonly isReplayed: boolean }> {
    try {
      await this.#files.sync();
      const { newId, now } = this.#deps;
      const job = newJob(request, file, { firstId: newId(), createdAt: new Date(now()).toISOString() });
      const { key } = request;
      const earlier = key === undefined ? await this.#store(job) : await this.#storeKeyed(job, key, signal);
      if (earlier === null) {
        this.#begin(job);
        return { job, isReplayed: false };
      }
      await this.drop(file);
      return { job: earlier, isReplayed: true };
    } catch (error) {
      await this.drop(file);
      throw error;
    }
  }

  async find(ownerId: string, id: string, signal: AbortSignal): Promise<ImportJob | null> {
    const running = this.#running.get(id)?.job;
    return running?.ownerId === ownerId ? running : this.#table.find(ownerId, id, signal);
  }

  async list(
    ownerId: string,
    page: { readonly limit: number; readonly before: string | null },
    signal: AbortSignal,
  ): Promise<readonly ImportJob[]> {
    const jobs = await this.#table.list(ownerId, page.limit, page.before, signal);
    return jobs.map((job) => this.#running.get(job.id)?.job ?? job);
  }

  /**
   * Cancels a job, unless it has ended. Afterwards all of its records exist, or none. If another process runs it, the answer may
   * still say `running`.
   */
  async cancel(job: ImportJob, signal: AbortSignal): Promise<ImportJob> {
    const running = this.#running.get(job.id);
    if (running !== undefined) {
      await running.cancel(stopsWithin);
      return running.job;
    }
    if (isOver(job)) return job;
    await this.#table.requestStop(job.id);
    let latest = job;
    for (let waited = 0; waited < stopsWithin && !isOver(latest); waited += stopEvery) {
      await sleep(stopEvery, undefined, { signal });
      latest = (await this.#table.find(job.ownerId, job.id, signal)) ?? latest;
    }
    return latest;
  }

  /** Ends the imports of a deleted account. @param isLast removes their jobs, too */
  async removeOwner(ownerId: string, isLast: boolean, signal: AbortSignal): Promise<void> {
    for (const job of await this.#table.unfinishedOf(ownerId, signal)) await this.cancel(job, signal);
    if (isLast) await this.#table.removeOwner(ownerId, signal);
  }

  async close(): Promise<void> {
    clearInterval(this.#search);
    this.#closing.abort(new Error('the server stops'));
    await Promise.all([...this.#running.values()].map((run) => run.run()));
  }

  async #store(job: ImportJob): Promise<null> {
    await this.#table.store(job);
    return null;
  }

  /** The job of an earlier request with this key; null: this job was stored. Throws 422 if the requests differ. */
  async #storeKeyed(job: ImportJob, key: string, signal: AbortSignal): Promise<ImportJob | null> {
    const lock = `import ${job.ownerId} ${key}`;
    const reserved = await this.#deps.reservations.reserve([lock], signal);
    if ('takenKey' in reserved) throw overloaded('an import with this Idempotency-Key is just starting');
    try {
      const earlier = await this.#table.findByKey(job.ownerId, job.key as string, signal);
      if (earlier === null) return await this.#store(job);
      if (earlier.digest !== job.digest) throw idempotencyKeyReused();
      return this.#running.get(earlier.id)?.job ?? earlier;
    } finally {
      await reserved.reservation.settle([]);
    }
  }

  #begin(job: ImportJob): void {
    const run = this.#runOf(job);
    this.#running.set(job.id, run);
    void run.run().then(() => this.#running.delete(job.id));
  }

  #runOf(job: ImportJob): JobRun {
    return new JobRun(this.#runParts, job);
  }

  /** Never rejects: the next search finds what is left. */
  async #tidy(job: ImportJob): Promise<void> {
    try {
      const space = await this.#deps.spaces.find(job.catalogueId, AbortSignal.timeout(abandonedAfter));
      await dropStage(this.#deps, space?.id ?? job.catalogueId, job.id);
      await this.#files.drop(job.id);
    } catch (err) {
      this.#deps.log.warn({ err, job: job.id }, 'the file or the staging table of an import is left behind');
    }
  }

  async #resumeAbandoned(): Promise<void> {
    const { store, now } = this.#deps;
    const { signal } = this.#closing;
    // a kill may have left files of jobs that have ended
    const jobs = await this.#table.among(await this.#files.ids(), signal);
    for (const job of jobs) if (isOver(job) && !this.#running.has(job.id)) await this.#tidy(job);
    await this.#files.dropOrphans(
      jobs.map(({ id }) => id),
      now() - lostAfter,
    );
    for (const job of await this.#table.unfinished(signal)) {
      if (this.#running.has(job.id)) continue;
      const age = now() - Date.parse(job.updatedAt);
      // a job without its file still has to be ended
      const isAbandoned = this.#files.has(job.id)
        ? store.singleWriter || age > abandonedAfter
        : age > lostAfter;
      if (isAbandoned) this.#begin(job);
    }
  }
}
