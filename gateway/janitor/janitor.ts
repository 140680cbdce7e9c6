import type { RunningUploads } from '../../common/lifecycle/workers/running-uploads.ts';
import type { Log } from '../../common/log/log.ts';
import type { CloudFiles } from '../../common/metadata/cloud-files.ts';
import type { Deployment } from '../../common/metadata/deployment.ts';
import type { ObjectStore } from '../../common/object-store/object-store.ts';
import { LockRefused, type ProcessLock } from '../../common/redis/process-lock.ts';
import type { FileDigests } from '../digest/file-digests.ts';
import type { ResumableUploads } from '../resumable/resumable-uploads.ts';
import { abortStaleUploads } from './abort-stale-uploads.ts';
import { expireUploads } from './expire-uploads.ts';
import type { JanitorReport } from './janitor-report.ts';
import { type JanitorRun, runSteps } from './janitor-run.ts';
import { ObjectMatch } from './match-objects.ts';
import { RowMatch } from './match-rows.ts';

export interface JanitorOptions {
  readonly store: ObjectStore;
  readonly cloudFiles: CloudFiles;
  /** Absent: files have no digest of their own. */
  readonly digests?: FileDigests | undefined;
  readonly deployment: Pick<Deployment, 'keys'>;
  /** Those of this process are alive, whatever the store tells of them. */
  readonly uploads: Pick<RunningUploads, 'openKeys'>;
  readonly resumable: Pick<ResumableUploads, 'expire' | 'isLeft' | 'isOpen'>;
  readonly log: Log;
  /** Milliseconds without a sign of life after which an upload that was begun is aborted. */
  readonly staleAfter: number;
  /**
   * Milliseconds for which nothing younger is touched. Longer than an upload takes from its complete object to its
   * row, so that a run beside live uploads takes nothing from them.
   */
  readonly grace: number;
  /** Milliseconds between runs. */
  readonly interval: number;
  /** Objects that a run on the timer looks at: a thousand are one request to S3. */
  readonly objectsPerRun?: number;
  /** Keeps runs of several processes apart; absent: there is one process. A dry run needs no lock. */
  readonly lock?: ProcessLock | undefined;
}

export interface Janitor {
  /**
   * Looks at everything once. Runs do not overlap: a call during a run of this process waits for its turn, and one during
   * a run of another process throws a LockRefused.
   */
  run(args: { dryRun: boolean }): Promise<JanitorReport>;
  /** Runs now and on a timer. */
  start(): void;
  close(): Promise<void>;
}

/**
 * Puts right what interrupted uploads left: uploads that never ended, objects without a row, rows without an object.
 * Only keys that an upload of this deployment made are looked at, and no object is ever removed.
 */
export function createJanitor(options: JanitorOptions): Janitor {
  const { deployment, log, interval, lock } = options;
  const closing = new AbortController();
  const objects = new ObjectMatch({
    ...options,
    objectsPerRun: options.objectsPerRun ?? 1_000_000,
    signal: closing.signal,
  });
  const rows = new RowMatch(options);
  let last: Promise<unknown> = Promise.resolve();
  let timer: NodeJS.Timeout | null = null;

  const ids = async (): Promise<readonly string[]> => (await deployment.keys()).map(({ id }) => id);
  const steps = {
    'expire uploads': async (run: JanitorRun) => expireUploads(options, await ids(), run),
    'abort uploads': async (run: JanitorRun) => abortStaleUploads(options, await ids(), run),
    'match objects': async (run: JanitorRun) => objects.run(await ids(), run),
    'match rows': (run: JanitorRun) => rows.run(run),
  };
  /** In its turn, and when no other process does the same. */
  const schedule = (args: { dryRun: boolean; whole: boolean }): Promise<JanitorReport> => {
    const next = last.then(() => {
      closing.signal.throwIfAborted();
      const runUntil = (signal: AbortSignal) => runSteps({ ...args, signal, log }, steps);
      if (lock === undefined || args.dryRun) return runUntil(closing.signal);
      return lock.hold((lost) => runUntil(AbortSignal.any([closing.signal, lost])));
    });
    last = next.catch(() => {});
    return next;
  };
  const runByItself = (): void => {
    schedule({ dryRun: false, whole: false }).catch((error: unknown) => {
      if (!closing.signal.aborted) logMissedRun(log, error);
    });
  };

  return {
    run: ({ dryRun }) => schedule({ dryRun, whole: true }),
    start() {
      runByItself();
      timer = setInterval(runByItself, interval);
      timer.unref();
    },
    async close() {
      if (timer !== null) clearInterval(timer);
      closing.abort(new Error('the server stops'));
      await last;
      await objects.close();
    },
  };
}

function logMissedRun(log: Log, error: unknown): void {
  if (!(error instanceof LockRefused)) log.error({ err: error }, 'the janitor failed');
  else if (error.reason === 'held') log.info('another process runs the janitor: this run is left out');
  else {
    const text = 'it is not known whether another process runs the janitor: this run is left out';
    log.warn({ err: error }, text);
  }
}
