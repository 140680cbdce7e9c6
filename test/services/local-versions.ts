import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { type SpaceVersions, versionLifetime } from '#records/store-shared/space-versions.ts';

const keptSpaces = 10_000;

/** Versions that are shared by several sets of routes in this process. */
export function createLocalVersions(args: { lifetime?: number; spaceLimit?: number } = {}): SpaceVersions {
  const { lifetime = versionLifetime, spaceLimit = keptSpaces } = args;
  // a space that is evicted gets another version
  const versions = new LRUCache<string, string>({ max: spaceLimit, ttl: lifetime });
  const writers = new Map<string, number>();
  const count = (spaceId: string, more: number): void => {
    const left = (writers.get(spaceId) ?? 0) + more;
    if (left === 0) writers.delete(spaceId);
    else writers.set(spaceId, left);
  };
  return {
    async read(spaceId) {
      if (writers.has(spaceId)) return null;
      const known = versions.get(spaceId);
      if (known !== undefined) return known;
      const made = randomUUID();
      versions.set(spaceId, made);
      return made;
    },
    async begin(spaceId) {
      count(spaceId, 1);
      versions.delete(spaceId);
      return async () => count(spaceId, -1);
    },
  };
}
