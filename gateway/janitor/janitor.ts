import type { Deployment } from '#catalogue/deployment.ts';
import { LockRefused, type ProcessLock } from '#coordination/redis/process-lock.ts';
import type { Log } from '#kernel/log/log.ts';
import type { DirectStore } from '#objects/direct-store.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import type { RunningUploads } from '#process/lifecycle/workers/running-uploads.ts';
import type { FileTrash } from '../access/file-trash.ts';
import type { Quota } from '../access/storage-quota.ts';
import type { UsedFiles } from '../access/used-files.ts';
import type { HiddenState } from '../catalogue/cloud-file.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';
import type { Digests } from '../digest/file-digests.ts';
import type { PlanStore } from '../plans/plan-store.ts';
import type { ResumableUploads } from '../resumable/resumable-uploads.ts';
import { abortStaleUploads } from './abort-stale-uploads.ts';
import { emptyQuarantine } from './empty-quarantine.ts';
import { expirePlans } from './expire-plans.ts';
import { expireUploads } from './expire-uploads.ts';
import type { JanitorReport } from './janitor-report.ts';
import { runSteps } from './janitor-run.ts';
import { ObjectReconciler } from './object-reconciler.ts';
import { removeDueFiles } from './remove-due-files.ts';
import { removeReplaced } from './remove-replaced.ts';
import { RowReconciler } from './row-reconciler.ts';

export interface JanitorOptions {
  readonly store: ObjectStore;
  readonly cloudFiles: CloudFiles;
  readonly digests: Digests;
  readonly deployment: Pick<Deployment, 'id'>;
  /** Uploads of this process are not stale, whatever the store says. */
  readonly uploads: Pick<RunningUploads, 'openKeys'>;
  readonly resumable: Pick<ResumableUploads, 'expire' | 'isOrphaned' | 'isOpen' | 'isRefused'>;
  readonly plans: Pick<PlanStore, 'load' | 'decidesOn' | 'has' | 'closeFor'>;
  readonly quota: Pick<Quota, 'freed'>;
  readonly trash: Pick<FileTrash, 'emptying'>;
  readonly used: Pick<UsedFiles, 'hold'>;
  readonly trashDays: number;
  /** Null: parts are objects of their own. */
  readonly direct: Pick<DirectStore, 'abort'> | null;
  readonly log: Log;
  /** Of a file that nobody has scanned. */
  readonly newState?: HiddenState | undefined;
  /** How long refused files are kept. Milliseconds. */
  readonly quarantineFor: number;
  /** Milliseconds without new parts after which an upload is aborted. */
  readonly staleAfter: number;
  /**
   * Age in milliseconds below which nothing is touched. Longer than an upload needs from its complete object to its
   * row, so that a run does not interfere with uploads under way.
   */
  readonly grace: number;
  /** Milliseconds between runs. */
  readonly interval: number;
  /** Most objects that a scheduled run examines; listing takes one S3 request for each thousand. */
  readonly objectsPerRun?: number;
  /** The clock that decides whether the time of a file is over. */
  readonly now?: () => number;
  /** Lets only one process run at a time. A dry run needs no lock. */
  readonly lock: ProcessLock;
}

/**
 * Cleans up after interrupted uploads: unfinished uploads, objects without a row, rows without an object. It deletes files
 * that have expired, and empties the trash. It examines
 * only keys of this deployment, and never removes an object that may be an only copy.
 */
export class Janitor {
  readonly #options: JanitorOptions;
  readonly #closing = new AbortController();
  readonly #objects: ObjectReconciler;
  readonly #rows: RowReconciler;
  #last: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: JanitorOptions) {
    const { objectsPerRun = 1_000_000 } = options;
    this.#options = options;
    this.#objects = new ObjectReconciler({ ...options, objectsPerRun, signal: this.#closing.signal });
    this.#rows = new RowReconciler(options);
  }

  /**
   * Examines everything once. Runs do not overlap: a call during a run of this process waits for it, and a call during
   * a run of another process throws LockRefused.
   */
  run({ dryRun }: { dryRun: boolean }): Promise<JanitorReport> {
    return this.#schedule({ dryRun, whole: true });
  }

  /** Runs now and on a timer. */
  start(): void {
    this.#runScheduled();
    this.#timer = setInterval(() => this.#runScheduled(), this.#options.interval).unref();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#closing.abort(new Error('the server is stopping'));
    await this.#last;
    await this.#objects.close();
  }

  /** Waits for the last run of this process; unless it is a dry run, takes the lock as well. */
  #schedule(args: { dryRun: boolean; whole: boolean }): Promise<JanitorReport> {
    const closing = this.#closing.signal;
    const next = this.#last.then(() => {
      closing.throwIfAborted();
      if (args.dryRun) return this.#steps(args, closing);
      return this.#options.lock.hold((lost) => this.#steps(args, AbortSignal.any([closing, lost])));
    });
    this.#last = next.catch(() => {});
    return next;
  }

  #steps(args: { dryRun: boolean; whole: boolean }, signal: AbortSignal): Promise<JanitorReport> {
    const options = this.#options;
    const { id } = options.deployment;
    return runSteps(
      { ...args, signal, log: options.log },
      {
        'expire uploads': (run) => expireUploads(options, id, run),
        'expire plans': (run) => expirePlans(options, id, run),
        'empty the quarantine': (run) => emptyQuarantine(options, run),
        'abort uploads': (run) => abortStaleUploads(options, id, run),
        'delete due files': (run) => removeDueFiles(options, run),
        'match objects': (run) => this.#objects.run(id, run),
        'remove replaced files': (run) => removeReplaced(options, run),
        'match rows': (run) => this.#rows.run(run),
      },
    );
  }

  #runScheduled(): void {
    const { log } = this.#options;
    this.#schedule({ dryRun: false, whole: false }).catch((error: unknown) => {
      if (!this.#closing.signal.aborted) logMissedRun(log, error);
    });
  }
}

function logMissedRun(log: Log, error: unknown): void {
  if (!(error instanceof LockRefused)) log.error({ err: error }, 'the janitor failed');
  else if (error.reason === 'held') log.info('another process runs the janitor: this run is skipped');
  else {
    const text = 'unknown whether another process runs the janitor: this run is skipped';
    log.warn({ err: error }, text);
  }
}
