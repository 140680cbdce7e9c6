import type { RecordEffect, ResultCache } from './result-cache.ts';
import type { SpaceVersions } from './space-versions.ts';

/**
 * To be called before a write can be seen, so that nothing that was kept of results contradicts it. What it answers is
 * to be called when the write can be seen, or nobody knows; it resolves when the write may be acknowledged, and never rejects.
 * @param effects null: they are not known, or many
 */
export type BeginWrite = (spaceId: string, effects: readonly RecordEffect[] | null) => EndWrite;

/** @param changed false: the write turned out to change nothing; absent: it did, or nobody knows */
export type EndWrite = (changed?: boolean) => Promise<void>;

export function createBeginWrite({
  cache,
  versions,
}: {
  cache: ResultCache;
  versions: SpaceVersions;
}): BeginWrite {
  return (spaceId, effects) => {
    const end = cache.begin(spaceId, effects);
    return async (changed = true) => {
      end();
      if (changed) await versions.change(spaceId);
    };
  };
}
