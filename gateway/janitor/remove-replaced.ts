import { type EraseDeps, eraseFiles } from '../access/erase-files.ts';
import type { UsedFiles } from '../access/used-files.ts';
import type { CloudFile } from '../catalogue/cloud-file.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';
import type { PlanStore } from '../plans/plan-store.ts';
import type { JanitorRun } from './janitor-run.ts';

interface RemoveReplacedDeps extends EraseDeps {
  readonly cloudFiles: Pick<CloudFiles, 'replacedBetween' | 'remove'>;
  readonly used: Pick<UsedFiles, 'hold'>;
  readonly plans: Pick<PlanStore, 'closeFor'>;
  /** Age in milliseconds below which nothing is touched. */
  readonly grace: number;
}

const filesPerRun = 10_000;
const filesAtOnce = 500;
/** Files replaced before were found by earlier runs. Milliseconds. */
const window = 48 * 3600 * 1000;

/**
 * Removes files of folders whose path has a newer file: a gateway ended before it removed what it replaced, two gateways
 * without Redis stored both, or the newer one waited for a scanner. Files that records name stay.
 */
export async function removeReplaced(deps: RemoveReplacedDeps, run: JanitorRun): Promise<void> {
  const before = Date.now() - deps.grace;
  const files = await deps.cloudFiles.replacedBetween(
    new Date(before - window),
    new Date(before),
    filesPerRun,
    run.signal,
  );
  for (const ofProject of byProject(files))
    for (let at = 0; at < ofProject.length; at += filesAtOnce)
      await run.attempt('remove replaced files', () =>
        removeSome(deps, ofProject.slice(at, at + filesAtOnce), run),
      );
}

/** @param files of one project */
async function removeSome(
  deps: RemoveReplacedDeps,
  files: readonly CloudFile[],
  { signal, report, dryRun }: JanitorRun,
): Promise<void> {
  if (dryRun) {
    report.replacedRemoved += files.length;
    return;
  }
  const [{ ownerId, projectSlug: slug }] = files as readonly [CloudFile];
  const held = await deps.used.hold({ ownerId, slug }, namesOf(files), signal);
  const free = files.filter(({ name }) => !held.inUse.has(name));
  await deps.plans.closeFor(free, signal);
  const { gone, left } = await eraseFiles(deps, free, signal);
  held.deleted(namesOf(gone));
  await held.release(namesOf(left));
  report.replacedRemoved += gone.length;
  if (left.length > 0) throw new Error(`the object store did not delete ${left.length} files`);
}

function byProject(files: readonly CloudFile[]): Iterable<readonly CloudFile[]> {
  const projects = new Map<string, CloudFile[]>();
  for (const file of files) {
    const key = `${file.ownerId}/${file.projectSlug}`;
    const some = projects.get(key);
    if (some === undefined) projects.set(key, [file]);
    else some.push(file);
  }
  return projects.values();
}

function namesOf(files: readonly CloudFile[]): readonly string[] {
  return files.map(({ name }) => name);
}
