import { createHash } from 'node:crypto';
import type { RedisConnection } from '#coordination/redis/redis-connection.ts';
import { ifQuick } from '#coordination/redis/without-redis.ts';
import type { Log } from '#kernel/log/log.ts';

interface UserOfSpace {
  readonly spaceId: string;
  readonly id: string;
}

/** The login states (login-state.ts) that changed lately, for processes without records of users. */
export interface SharedLoginStates {
  /** null: it did not change, or is not known. Never rejects. */
  get(user: UserOfSpace): Promise<string | null>;
  /** Never rejects: while Redis is away, the others don't learn of it. */
  put(user: UserOfSpace, state: string): Promise<void>;
}

/** @param args.ttl of login tokens: a state matters to those that were issued before it. Milliseconds */
export function createSharedLoginStates(args: {
  readonly redis: RedisConnection;
  readonly ttl: number;
  readonly log: Log;
}): SharedLoginStates {
  const { redis, ttl, log } = args;
  const tell = (err: unknown): void => log.warn({ err }, 'the end of a login cannot be shared');
  return {
    get: (user) => ifQuick(redis.get(keyOf(user)), tell),
    async put(user, state) {
      await ifQuick(redis.set(keyOf(user), state, ttl), tell);
    },
  };
}

function keyOf({ spaceId, id }: UserOfSpace): string {
  const hash = createHash('sha256').update(`${spaceId} ${id}`).digest('base64url');
  return `sluice:logins:1:${hash}`;
}
