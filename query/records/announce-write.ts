import type { RecordEffect, ResultCache } from './result-cache.ts';
import type { SpaceVersions } from './space-versions.ts';

/**
 * Ends what was kept of results that a write may have changed: here, and in other processes. To be called when the write
 * can be seen; resolves when it may be acknowledged. Never rejects.
 * @param effects null: nobody knows them, or they are many
 */
export type AnnounceWrite = (spaceId: string, effects: readonly RecordEffect[] | null) => Promise<void>;

export function createAnnounceWrite({
  cache,
  versions,
}: {
  cache: ResultCache;
  versions: SpaceVersions;
}): AnnounceWrite {
  return (spaceId, effects) => {
    if (effects === null) cache.invalidateSpace(spaceId);
    else cache.invalidate(spaceId, effects);
    return versions.change(spaceId);
  };
}
