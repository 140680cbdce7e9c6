import type { ObjectStore } from '#objects/object-store.ts';
import type { ResumableUploads } from '../resumable/resumable-uploads.ts';
import { readUploadKey, uploadsPrefix } from '../resumable/upload-state.ts';
import type { JanitorRun } from './janitor-run.ts';

export interface ExpireDeps {
  readonly store: Pick<ObjectStore, 'list' | 'delete'>;
  readonly resumable: Pick<ResumableUploads, 'expire' | 'isOrphaned'>;
  /** Milliseconds without new bytes after which a resumable upload expires. */
  readonly staleAfter: number;
}

/** Most uploads that one run examines. */
const candidatesPerRun = 10_000;

/** Drops resumable uploads that have had no new bytes for too long. @param deployment its id */
export async function expireUploads(
  { store, resumable, staleAfter }: ExpireDeps,
  deployment: string,
  run: JanitorRun,
): Promise<void> {
  const { signal, report, dryRun } = run;
  const limit = Date.now() - staleAfter;
  let candidates = 0;
  for await (const { key, lastModified } of store.list(uploadsPrefix(deployment), signal)) {
    const upload = readUploadKey(key);
    if (upload === null || lastModified.getTime() > limit) continue;
    if (++candidates > candidatesPerRun) return;
    await run.attempt('expire an upload', async () => {
      if (dryRun) {
        if (!upload.isRest) report.uploadsExpired++;
      } else if (!upload.isRest) {
        if (await resumable.expire(upload, signal)) report.uploadsExpired++;
      } else if (await resumable.isOrphaned(upload, key, signal)) {
        await store.delete(key, signal);
      }
    });
  }
}
