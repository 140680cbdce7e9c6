import type { ObjectStore } from '#objects/object-store.ts';
import type { Quota } from '../access/storage-quota.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';
import type { PlanStore } from '../plans/plan-store.ts';
import type { JanitorRun } from './janitor-run.ts';

export interface EmptyQuarantineDeps {
  readonly store: Pick<ObjectStore, 'deleteAll'>;
  readonly cloudFiles: Pick<CloudFiles, 'withState' | 'remove'>;
  readonly plans: Pick<PlanStore, 'closeFor'>;
  readonly quota: Pick<Quota, 'freed'>;
  /** How long refused files are kept. Milliseconds. */
  readonly quarantineFor: number;
}

/** The limit of S3's DeleteObjects. */
const filesPerRun = 1000;

/** Deletes refused files after their time: objects, then rows. */
export async function emptyQuarantine(
  { store, cloudFiles, plans, quota, quarantineFor }: EmptyQuarantineDeps,
  { signal, dryRun, report }: JanitorRun,
): Promise<void> {
  const query = {
    state: 'refused',
    before: new Date(Date.now() - quarantineFor),
    limit: filesPerRun,
    perOwner: filesPerRun,
  } as const;
  const files = await cloudFiles.withState(query, signal);
  if (dryRun || files.length === 0) {
    report.refusedRemoved = files.length;
    return;
  }
  await plans.closeFor(files, signal);
  const left = new Set(
    await store.deleteAll(
      files.map(({ objectKey }) => objectKey),
      signal,
    ),
  );
  for (const { name, objectKey } of files) {
    if (left.has(objectKey)) report.failures++;
    else if (await cloudFiles.remove(name, signal)) report.refusedRemoved++;
  }
  for (const owner of new Set(files.map(({ ownerId }) => ownerId))) quota.freed(owner);
}
