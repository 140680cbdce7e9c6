import { keysAtOnce } from '#objects/object-store.ts';
import { type EraseDeps, eraseFiles } from '../access/erase-files.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';
import type { PlanStore } from '../plans/plan-store.ts';
import type { JanitorRun } from './janitor-run.ts';

export interface EmptyQuarantineDeps extends EraseDeps {
  readonly cloudFiles: Pick<CloudFiles, 'withState' | 'remove'>;
  readonly plans: Pick<PlanStore, 'closeFor'>;
  /** How long refused files are kept. Milliseconds. */
  readonly quarantineFor: number;
}

/** Deletes refused files after their time: objects, then rows. */
export async function emptyQuarantine(
  deps: EmptyQuarantineDeps,
  { signal, dryRun, report }: JanitorRun,
): Promise<void> {
  const { cloudFiles, plans, quarantineFor } = deps;
  const query = {
    state: 'refused',
    before: new Date(Date.now() - quarantineFor),
    limit: keysAtOnce,
    perOwner: keysAtOnce,
  } as const;
  const files = await cloudFiles.withState(query, signal);
  if (dryRun || files.length === 0) {
    report.refusedRemoved = files.length;
    return;
  }
  await plans.closeFor(files, signal);
  const { gone, left } = await eraseFiles(deps, files, signal);
  report.refusedRemoved = gone.length;
  report.failures += left.length;
}
