import type { CloudFile, CloudFiles } from '../../common/control/cloud-files.ts';
import { slugProblem } from '../../common/control/slug.ts';
import type { Log } from '../../common/log/log.ts';
import type { ObjectInfo, ObjectStore } from '../../common/object-store/object-store.ts';
import { LockRefused, type ProcessLock } from '../../common/redis/process-lock.ts';
import { isStoredName } from '../file-name.ts';
import { adoptObject, nameOf } from './adopt-object.ts';
import { emptyReport, type JanitorReport } from './janitor-report.ts';

export interface JanitorOptions {
  readonly store: ObjectStore;
  readonly cloudFiles: CloudFiles;
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
  /** Keeps runs of several processes apart; absent: there is one process. A dry run needs no lock. */
  readonly lock?: ProcessLock | undefined;
}

export interface Janitor {
  /**
   * Looks once. Runs do not overlap: a call during a run of this process waits for its turn, and one during a run of
   * another process throws a LockRefused.
   */
  run(args: { dryRun: boolean }): Promise<JanitorReport>;
  /** Runs now and on a timer. */
  start(): void;
  close(): Promise<void>;
}

/** Objects that are looked up with one statement, and rows that are checked in one run. */
const batchSize = 1000;
const rowsPerRun = 10_000;
/** Rows older than this were checked by earlier runs. */
const rowWindow = 48 * 3600 * 1000;
const headsAtOnce = 8;
const fewRows = 10;
const progressEvery = 100_000;

/**
 * Puts right what interrupted uploads left: uploads that never ended, objects without a row, rows without an object.
 * Only keys that an upload of ours could have made are ever touched.
 */
export function createJanitor(options: JanitorOptions): Janitor {
  const { store, cloudFiles, log, staleAfter, grace, interval, lock } = options;
  const closing = new AbortController();
  /** Of the run that goes on: it ends with the process, and when another process may begin one. */
  let { signal } = closing;
  let last: Promise<unknown> = Promise.resolve();
  let timer: NodeJS.Timeout | null = null;

  /** Does one thing; a failure is counted and left to the next run. */
  const attempt = async (report: JanitorReport, what: string, work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      if (signal.aborted) throw error;
      report.failures++;
      log.warn({ err: error, what }, 'the janitor could not do something');
    }
  };

  const abortStaleUploads = async (report: JanitorReport): Promise<void> => {
    const limit = Date.now() - staleAfter;
    for await (const upload of store.listOpenUploads(signal)) {
      if (upload.since.getTime() > limit) continue;
      await attempt(report, 'abort an upload', async () => {
        if (!report.dryRun) await store.abortUpload(upload, signal);
        report.uploadsAborted++;
      });
    }
  };

  const matchObjects = async (report: JanitorReport): Promise<void> => {
    const limit = Date.now() - grace;
    let batch: ObjectInfo[] = [];
    const flush = async (): Promise<void> => {
      const objects = batch;
      batch = [];
      await attempt(report, 'look up rows', async () => {
        const withRow = await cloudFiles.namesWithRow(
          objects.map(({ key }) => nameOf(key)),
          signal,
        );
        for (const object of objects) {
          if (withRow.has(nameOf(object.key))) continue;
          await attempt(report, 'give an object its row', () => adopt(report, object));
        }
      });
    };
    for await (const object of store.list('', signal)) {
      report.objectsSeen++;
      if (report.objectsSeen % progressEvery === 0) log.info({ report }, 'the janitor goes on');
      if (!isOurKey(object.key)) report.foreignObjects++;
      else if (object.lastModified.getTime() <= limit) batch.push(object);
      if (batch.length === batchSize) await flush();
    }
    await flush();
  };

  const adopt = async (report: JanitorReport, { key }: ObjectInfo): Promise<void> => {
    const done = await adoptObject({ store, cloudFiles }, key, { dryRun: report.dryRun, signal });
    if (done === 'row made') report.rowsMade++;
    if (done === 'object removed') report.objectsRemoved++;
  };

  const matchRows = async (report: JanitorReport): Promise<void> => {
    const now = Date.now();
    const files = await cloudFiles.madeBetween(
      new Date(now - rowWindow - grace),
      new Date(now - grace),
      rowsPerRun,
      signal,
    );
    const waiting = [...files];
    const lost: CloudFile[] = [];
    const check = async (): Promise<void> => {
      for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
        const row = file;
        await attempt(report, 'check a row', async () => {
          report.rowsChecked++;
          if ((await store.head(row.objectKey, signal)) === null) lost.push(row);
        });
      }
    };
    await Promise.all(Array.from({ length: headsAtOnce }, check));
    // interrupted uploads leave few; where many are missing it is rather the store that is not the right one
    if (lost.length > fewRows && lost.length > report.rowsChecked / 10) {
      report.failures++;
      log.error(
        { lost: lost.length, checked: report.rowsChecked },
        'too many files are not in the store: their rows are kept',
      );
      return;
    }
    for (const { name } of lost) {
      await attempt(report, 'remove a row', async () => {
        if (!report.dryRun) await cloudFiles.remove(name, signal);
        report.rowsRemoved++;
      });
    }
  };

  const runOnce = async (dryRun: boolean): Promise<JanitorReport> => {
    const started = performance.now();
    const report = emptyReport(dryRun);
    await attempt(report, 'list uploads', () => abortStaleUploads(report));
    await attempt(report, 'list objects', () => matchObjects(report));
    await attempt(report, 'check rows', () => matchRows(report));
    report.milliseconds = Math.round(performance.now() - started);
    log.info({ report }, 'the janitor is done');
    return report;
  };

  const run: Janitor['run'] = ({ dryRun }) => {
    const next = last.then(() => {
      closing.signal.throwIfAborted();
      if (lock === undefined || dryRun) return runOnce(dryRun);
      return lock.hold(async (lost) => {
        signal = AbortSignal.any([closing.signal, lost]);
        try {
          return await runOnce(dryRun);
        } finally {
          signal = closing.signal;
        }
      });
    });
    last = next.catch(() => {});
    return next;
  };
  const runByItself = (): void => {
    run({ dryRun: false }).catch((error: unknown) => {
      if (closing.signal.aborted) return;
      if (!(error instanceof LockRefused)) log.error({ err: error }, 'the janitor failed');
      else if (error.reason === 'held') log.info('another process runs the janitor: this run is left out');
      else
        log.warn(
          { err: error },
          'it is not known whether another process runs the janitor: this run is left out',
        );
    });
  };

  return {
    run,
    start() {
      runByItself();
      timer = setInterval(runByItself, interval);
      timer.unref();
    },
    async close() {
      if (timer !== null) clearInterval(timer);
      closing.abort(new Error('the server stops'));
      await last;
    },
  };
}

/** Whether an upload of ours could have made the key: `<owner>/<project_slug>/<name>`. */
function isOurKey(key: string): boolean {
  const [owner = '', project = '', name = '', ...more] = key.split('/');
  return (
    more.length === 0 &&
    /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(owner) &&
    slugProblem('project', project) === null &&
    isStoredName(name)
  );
}
