import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { type SpaceVersions, versionLifetime } from '../../query/records/space-versions.ts';

const keptSpaces = 10_000;

/** Versions that are shared by several sets of routes in this process. */
export function createLocalVersions(args: { lifetime?: number; spaceLimit?: number } = {}): SpaceVersions {
  const { lifetime = versionLifetime, spaceLimit = keptSpaces } = args;
  // a space that is evicted gets another version
  const versions = new LRUCache<string, string>({ max: spaceLimit, ttl: lifetime });
  return {
    async read(spaceId) {
      const known = versions.get(spaceId);
      if (known !== undefined) return known;
      const made = randomUUID();
      versions.set(spaceId, made);
      return made;
    },
    async change(spaceId) {
      versions.delete(spaceId);
    },
  };
}
