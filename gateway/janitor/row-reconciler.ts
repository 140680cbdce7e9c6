import { forEachAtOnce } from '#kernel/limits/for-each-at-once.ts';
import type { Log } from '#kernel/log/log.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import type { CloudFile } from '../catalogue/cloud-file.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';
import type { JanitorRun } from './janitor-run.ts';

export interface RowReconcilerDeps {
  readonly store: Pick<ObjectStore, 'head'>;
  readonly cloudFiles: Pick<CloudFiles, 'madeBetween' | 'remove'>;
  readonly log: Log;
  /** Age below which a row is ignored, and the least time between the two runs that miss its object. Milliseconds. */
  readonly grace: number;
}

const rowsPerRun = 10_000;
/** Rows older than this were checked by earlier runs. Milliseconds. */
const rowWindow = 48 * 3600 * 1000;
const headsAtOnce = 8;
const fewRows = 10;

/** Removes rows whose object is missing, once a later run misses it too. */
export class RowReconciler {
  readonly #deps: RowReconcilerDeps;
  /** When the object of a row was first missed, by file name; only objects that the last run missed. */
  #missedSince = new Map<string, number>();

  constructor(deps: RowReconcilerDeps) {
    this.#deps = deps;
  }

  async run(run: JanitorRun): Promise<void> {
    const { log, grace } = this.#deps;
    const { report } = run;
    const missing = await this.#findMissing(run);
    report.rowsWithoutObject = missing.length;
    const now = Date.now();
    const since = new Map(missing.map(({ name }) => [name, this.#missedSince.get(name) ?? now]));
    const due = missing.filter(
      ({ name }) => this.#missedSince.has(name) && now - (since.get(name) ?? now) >= grace,
    );
    if (!run.dryRun) this.#missedSince = since;
    // interrupted uploads leave few; many missing objects suggest the wrong store
    if (missing.length > fewRows && missing.length > report.rowsChecked / 10) {
      report.failures++;
      const counts = { missing: missing.length, checked: report.rowsChecked };
      log.error(counts, 'too many files are missing from the store: their rows are kept');
      return;
    }
    for (const file of due) await run.attempt('remove a row', () => this.#remove(file, run));
  }

  async #findMissing(run: JanitorRun): Promise<CloudFile[]> {
    const { store, cloudFiles, grace } = this.#deps;
    const { signal, report } = run;
    const now = Date.now();
    const window = [new Date(now - rowWindow - grace), new Date(now - grace)] as const;
    const rows = await cloudFiles.madeBetween(...window, rowsPerRun, signal);
    const missing: CloudFile[] = [];
    await forEachAtOnce(rows, headsAtOnce, (row) =>
      run.attempt('check a row', async () => {
        report.rowsChecked++;
        if ((await store.head(row.objectKey, signal)) === null) missing.push(row);
      }),
    );
    return missing;
  }

  async #remove({ name }: CloudFile, { dryRun, signal, report }: JanitorRun): Promise<void> {
    if (!dryRun) {
      await this.#deps.cloudFiles.remove(name, signal);
      this.#missedSince.delete(name);
    }
    report.rowsRemoved++;
  }
}
