import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { type SpaceVersions, versionLifetime } from './space-versions.ts';

const keptSpaces = 10_000;

/** For the only process of its store. */
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

/** For one of several processes that can't tell each other: nothing may be kept. */
export const noVersions: SpaceVersions = { read: async () => null, change: async () => {} };
