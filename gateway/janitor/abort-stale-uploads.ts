import { readCheckKey, readFileKey } from '#objects/file-key.ts';
import type { ObjectStore, OpenUpload } from '#objects/object-store.ts';
import type { RunningUploads } from '#process/lifecycle/workers/running-uploads.ts';
import type { PlanStore } from '../plans/plan-store.ts';
import type { ResumableUploads } from '../resumable/resumable-uploads.ts';
import { readUploadKey } from '../resumable/upload-state.ts';
import type { JanitorRun } from './janitor-run.ts';

export interface StaleUploadDeps {
  readonly store: Pick<ObjectStore, 'listOpenUploads' | 'lastWrittenAt' | 'isUploadOf' | 'abortUpload'>;
  readonly uploads: Pick<RunningUploads, 'openKeys'>;
  /** Tells resumable uploads apart, however old their last bytes are. */
  readonly resumable: Pick<ResumableUploads, 'isOpen'>;
  /** Planned uploads end with their plan. */
  readonly plans: Pick<PlanStore, 'has'>;
  /** Milliseconds without new parts after which an upload is stale. */
  readonly staleAfter: number;
}

/** Most uploads that one run examines. */
const candidatesPerRun = 10_000;

/** Aborts uploads of this deployment that get no more parts. @param deployment its id */
export async function abortStaleUploads(
  { store, uploads, resumable, plans, staleAfter }: StaleUploadDeps,
  deployment: string,
  run: JanitorRun,
): Promise<void> {
  const { signal, report, dryRun } = run;
  const limit = Date.now() - staleAfter;
  const isOurs = ({ key }: OpenUpload): boolean =>
    key === '' || (readFileKey(key) ?? readUploadKey(key) ?? readCheckKey(key))?.deploymentId === deployment;
  let candidates = 0;
  for await (const upload of store.listOpenUploads(signal)) {
    if (upload.since.getTime() > limit || !isOurs(upload)) continue;
    if (++candidates > candidatesPerRun) return;
    await run.attempt('abort an upload', async () => {
      // a long upload may have begun before the limit and still be getting parts
      const written = await store.lastWrittenAt(upload, signal);
      if (written === null || written.getTime() > limit) return;
      if (uploads.openKeys.some((key) => store.isUploadOf(upload, key))) return;
      if (await resumable.isOpen(upload.key, signal)) return;
      if (await plans.has(upload.key, signal)) return;
      if (!dryRun) await store.abortUpload(upload, signal);
      report.uploadsAborted++;
    });
  }
}
