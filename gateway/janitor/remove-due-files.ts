import { type EraseDeps, eraseFiles } from '../access/erase-files.ts';
import type { FileTrash } from '../access/file-trash.ts';
import type { CloudFile } from '../catalogue/cloud-file.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';
import type { PlanStore } from '../plans/plan-store.ts';
import type { JanitorRun } from './janitor-run.ts';

export interface DueFilesDeps extends EraseDeps {
  readonly cloudFiles: Pick<CloudFiles, 'findDue' | 'remove'>;
  readonly plans: Pick<PlanStore, 'closeFor'>;
  readonly trash: Pick<FileTrash, 'emptying'>;
  /** How long files stay in the trash. */
  readonly trashDays: number;
  /** How long after their time files are deleted. Milliseconds. */
  readonly grace: number;
  readonly now?: () => number;
}

const filesAtOnce = 500;
/** Most files of one run. */
const filesPerRun = 100_000;
const dayLength = 24 * 3600 * 1000;
/** Most time from a look at the rows to the deletion: less than marks hold. Milliseconds. */
const decidedFor = 60_000;

/**
 * Deletes files that have expired, and empties the trash. A file is due by the clock of the engine and by our own, and some
 * time after: one clock that is wrong deletes nothing.
 */
export async function removeDueFiles(deps: DueFilesDeps, run: JanitorRun): Promise<void> {
  let after = '';
  for (let seen = 0; seen < filesPerRun; seen += filesAtOnce) {
    const due = await findDue(deps, { after }, run.signal);
    if (due.length === 0) return;
    await run.attempt('delete files whose time is over', () => removeSome(deps, due, run));
    after = due.at(-1)?.name ?? '';
  }
}

function findDue(
  { cloudFiles, grace, trashDays, now = Date.now }: DueFilesDeps,
  which: { readonly after: string } | { readonly names: readonly string[] },
  signal: AbortSignal,
): Promise<readonly CloudFile[]> {
  const times = { now: now(), grace, trashedFor: trashDays * dayLength };
  return cloudFiles.findDue({ ...times, limit: filesAtOnce, ...which }, signal);
}

async function removeSome(
  deps: DueFilesDeps,
  files: readonly CloudFile[],
  { dryRun, signal, report }: JanitorRun,
): Promise<void> {
  const count = ({ trashedAt }: CloudFile): void => {
    if (trashedAt === undefined) report.filesExpired++;
    else report.filesEmptied++;
  };
  if (dryRun) {
    files.forEach(count);
    return;
  }
  const work = async (): Promise<void> => {
    const began = performance.now();
    const names = files.map(({ name }) => name);
    // somebody may have restored one before it was marked
    const still = await findDue(deps, { names }, signal);
    await deps.plans.closeFor(still, signal);
    if (performance.now() - began > decidedFor) throw new Error('the process was suspended');
    const { gone, left } = await eraseFiles(deps, still, signal);
    gone.forEach(count);
    if (left.length > 0) throw new Error(`the object store did not delete ${left.length} files`);
  };
  await deps.trash.emptying(files, work, signal);
}
