import { setTimeout as sleep } from 'node:timers/promises';
import type { UsageCounts } from '#catalogue/usage-counts.ts';
import type { Database } from '#engine/database.ts';
import { idempotencyKeyReused, overloaded } from '#kernel/errors/catalogue.ts';
import { FairShare } from '#kernel/limits/fair-share.ts';
import type { Log } from '#kernel/log/log.ts';
import type { UniqueReservations } from '#records/unique/unique-reservations.ts';
import { type Preview, type PreviewTask, runPreview } from '../thread/preview.ts';
import { type AskedImport, type ImportJob, isOver, newJob } from './import-job.ts';
import { JobRun, type JobRunParts } from './job-run.ts';
import { JobTable } from './job-table.ts';
import { dropStage, type ImportParts } from './one-import.ts';
import { type ReceivedFile, ReceivedFiles, type ReceivedFilesParts } from './received-files.ts';
import type { Source } from './spool-body.ts';

export interface ImportsParts extends ImportParts, ReceivedFilesParts {
  readonly db: Database;
  readonly reservations: UniqueReservations;
  readonly usage: Pick<UsageCounts, 'add'>;
  readonly log: Pick<Log, 'warn'>;
  /** Characters. */
  readonly largestRecord: number;
  readonly now: () => number;
}

/** Imports of a process that run at once, and those of an account. */
const atOnce = { capacity: 2, share: 1 };
/** Milliseconds after which a job that no process stores any more was left, and between two looks for such. */
const leftAfter = 60_000;
const lookEvery = 30_000;
/** Milliseconds after which nobody waits any more for the process that had the file of a job. */
const lostAfter = 3_600_000;
/** Milliseconds between two looks whether another process has stopped a job, and until we wait no longer. */
const stopEvery = 250;
const stopsWithin = 10_000;

/** Imports of records (docs/import-export.md). A file is kept on the disk of its process until its import is over. */
export class Imports {
  readonly #deps: ImportsParts;
  readonly #table: JobTable;
  readonly #files: ReceivedFiles;
  readonly #slots = new FairShare({ ...atOnce, queueLimit: 1000, full: 'too many imports wait' });
  readonly #previews = new FairShare({
    ...atOnce,
    queueLimit: 100,
    full: 'too many files wait to be looked at',
  });
  readonly #runParts: JobRunParts;
  readonly #running = new Map<string, JobRun>();
  readonly #closing = new AbortController();
  #looking: NodeJS.Timeout | undefined;

  /** Characters of a record. */
  readonly largestRecord: number;
  /** Of a file. */
  readonly mostBytes: number;

  constructor(deps: ImportsParts) {
    this.largestRecord = deps.largestRecord;
    this.mostBytes = deps.mostBytes;
    this.#deps = deps;
    this.#table = new JobTable(deps);
    this.#files = new ReceivedFiles(deps);
    const own = { table: this.#table, files: this.#files, slots: this.#slots, closing: this.#closing.signal };
    this.#runParts = { ...deps, ...own, tidy: (job) => this.#tidy(job) };
  }

  /** To be called before requests are served: ends imports that were cut off while they were published. */
  async open(): Promise<void> {
    if (!this.#deps.store.singleWriter) return;
    for (const job of await this.#table.unfinished(this.#closing.signal))
      if (job.state === 'publishing' && this.#files.has(job.id)) await this.#runOf(job).try(this.#deps.now());
  }

  /** Goes on with what was cut off, now and from time to time. */
  started(): void {
    const look = (): void => {
      this.#takeUp().catch((err: unknown) => {
        if (!this.#closing.signal.aborted)
          this.#deps.log.warn({ err }, 'imports that were cut off are left to the next look');
      });
    };
    look();
    this.#looking = setInterval(look, lookEvery).unref();
  }

  /**
   * Stores the file of an import; `submit` or `drop` takes it over. Throws 503 when the account has too many imports that are
   * not over, or are just coming.
   */
  receive(ownerId: string, source: Source): Promise<ReceivedFile> {
    const running = [...this.#running.values()].filter(({ job }) => job.ownerId === ownerId).length;
    return this.#files.receive(ownerId, source, running);
  }

  /** What the first records of a file say. Throws a 400 where they say of no structure. */
  preview(ownerId: string, task: PreviewTask, signal: AbortSignal): Promise<Preview> {
    return this.#previews.run(() => runPreview(task, signal), signal, ownerId);
  }

  drop({ id }: ReceivedFile): Promise<void> {
    return this.#files.drop(id);
  }

  /** Resolves when the job will be done whatever happens. */
  async submit(
    asked: AskedImport,
    file: ReceivedFile,
    signal: AbortSignal,
  ): Promise<{ readonly job: ImportJob; readonly isReplayed: boolean }> {
    try {
      await this.#files.sync();
      const { newId, now } = this.#deps;
      const job = newJob(asked, file, { firstId: newId(), createdAt: new Date(now()).toISOString() });
      const earlier =
        asked.key === undefined ? await this.#keep(job) : await this.#keepKeyed(job, asked.key, signal);
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
    const here = this.#running.get(id)?.job;
    return here?.ownerId === ownerId ? here : this.#table.find(ownerId, id, signal);
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
   * Ends a job, unless it is over. Afterwards all of its records exist, or none. If another process runs it, the answer may
   * still say `running`.
   */
  async cancel(job: ImportJob, signal: AbortSignal): Promise<ImportJob> {
    const running = this.#running.get(job.id);
    if (running !== undefined) {
      await running.cancel(stopsWithin);
      return running.job;
    }
    if (isOver(job)) return job;
    await this.#table.askToStop(job.id);
    let now = job;
    for (let time = 0; time < stopsWithin && !isOver(now); time += stopEvery) {
      await sleep(stopEvery, undefined, { signal });
      now = (await this.#table.find(job.ownerId, job.id, signal)) ?? now;
    }
    return now;
  }

  async close(): Promise<void> {
    clearInterval(this.#looking);
    this.#closing.abort(new Error('the server stops'));
    await Promise.all([...this.#running.values()].map((run) => run.run()));
  }

  async #keep(job: ImportJob): Promise<null> {
    await this.#table.store(job);
    return null;
  }

  /** The job of an earlier request with the key; null: this one is stored. Throws 422 when that was another request. */
  async #keepKeyed(job: ImportJob, key: string, signal: AbortSignal): Promise<ImportJob | null> {
    const lock = `import ${job.ownerId} ${key}`;
    const reserved = await this.#deps.reservations.reserve([lock], signal);
    if ('takenKey' in reserved) throw overloaded('the import with this Idempotency-Key is just beginning');
    try {
      const earlier = await this.#table.findByKey(job.ownerId, job.key as string, signal);
      if (earlier === null) return await this.#keep(job);
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

  /** Never rejects: what is left is found by the next look. */
  async #tidy(job: ImportJob): Promise<void> {
    try {
      const space = await this.#deps.spaces.find(job.catalogueId, AbortSignal.timeout(leftAfter));
      await dropStage(this.#deps, space?.id ?? job.catalogueId, job.id);
      await this.#files.drop(job.id);
    } catch (err) {
      this.#deps.log.warn({ err, job: job.id }, 'an import left its file, or its table');
    }
  }

  async #takeUp(): Promise<void> {
    const { store, now } = this.#deps;
    const { signal } = this.#closing;
    // a kill may have left what belongs to a job that is over
    const jobs = await this.#table.among(await this.#files.ids(), signal);
    for (const job of jobs) if (isOver(job) && !this.#running.has(job.id)) await this.#tidy(job);
    await this.#files.dropLeft(
      jobs.map(({ id }) => id),
      now() - lostAfter,
    );
    for (const job of await this.#table.unfinished(signal)) {
      if (this.#running.has(job.id)) continue;
      const age = now() - Date.parse(job.updatedAt);
      // what became of a job whose file is lost can still be found out
      const isLeft = this.#files.has(job.id) ? store.singleWriter || age > leftAfter : age > lostAfter;
      if (isLeft) this.#begin(job);
    }
  }
}
