import { setTimeout as sleep } from 'node:timers/promises';
import { forEachAtOnce } from '../../common/limits/for-each-at-once.ts';
import type { Log } from '../../common/log/log.ts';
import type { CloudFiles } from '../../common/metadata/cloud-files.ts';
import type { ObjectStore } from '../../common/object-store/object-store.ts';
import { nameOf } from '../file-key.ts';
import { adoptObject } from './adopt-object.ts';

/** What was done about uploads that a dead process had begun. */
export interface SweepReport {
  uploads: number;
  /** Had their object and its row. */
  whole: number;
  rowsMade: number;
  /** Objects without a row whose metadata tell of none: never removed. */
  objectsLeft: number;
  /** Left neither object nor row. */
  nothing: number;
  /** What could not be done: left to the janitor. */
  failures: number;
}

/**
 * What was on its way when the process died may still take effect, so everything is looked at again. Rows are made no
 * earlier than in the second round: one may be on its way. Milliseconds before each round.
 */
const pauses = [0, 1000, 4000];
const uploadsAtOnce = 8;

/**
 * Cleans up after uploads whose process is gone: drops what was begun, and gives objects without a row theirs, by the
 * janitor's rule. Rejects when the signal is aborted.
 * @param keys of their objects; no living process writes to them
 */
export async function sweepUploads(
  deps: { store: ObjectStore; cloudFiles: CloudFiles; log: Log; pauses?: readonly number[] },
  keys: readonly string[],
  signal: AbortSignal,
): Promise<SweepReport> {
  const { store, cloudFiles, log } = deps;
  const report = { uploads: keys.length, whole: 0, rowsMade: 0, objectsLeft: 0, nothing: 0, failures: 0 };
  const failed = new Set<string>();
  let open = [...keys];

  const each = (work: (key: string) => Promise<void>): Promise<void> =>
    forEachAtOnce(open, uploadsAtOnce, async (key) => {
      try {
        await work(key);
        failed.delete(key);
      } catch (error) {
        signal.throwIfAborted();
        failed.add(key);
        log.warn({ objectKey: key, err: error }, 'what an upload left could not be looked at');
      }
    });

  for (const [round, pause] of (deps.pauses ?? pauses).entries()) {
    await sleep(pause, undefined, { signal });
    await each((key) => store.abortUploadsOf(key, signal));
    if (round === 0) continue;
    const withRow = await cloudFiles.namesWithRow(open.map(nameOf), signal);
    report.whole += open.filter((key) => withRow.has(nameOf(key))).length;
    open = open.filter((key) => !withRow.has(nameOf(key)));
    const settled = new Set<string>();
    await each(async (key) => {
      const done = await adoptObject({ store, cloudFiles }, key, { dryRun: false, signal });
      if (done === 'row made') report.rowsMade++;
      if (done === 'object left') report.objectsLeft++;
      if (done !== 'nothing there') settled.add(key);
    });
    open = open.filter((key) => !settled.has(key));
    if (open.length === 0) break;
  }
  report.failures = failed.size;
  report.nothing = open.length - failed.size;
  return report;
}
