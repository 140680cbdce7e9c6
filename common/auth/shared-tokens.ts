import { timingSafeEqual } from 'node:crypto';
import type { Log } from '../log/log.ts';
import type { Invalidation, StreamPosition } from '../redis/invalidation.ts';
import type { RedisConnection } from '../redis/redis-connection.ts';
import { unlessAway, unlessLate } from '../redis/without-redis.ts';
import type { AccessToken, ReadLimitsOfToken } from './access-tokens.ts';
import { createKeyedHash } from './keyed-hash.ts';
import type { SigningKeys } from './signing-keys.ts';

/** Access tokens that any process looked up, for all of them. */
export interface SharedTokens {
  /** A stored token as of the position; null: it has to be looked up. Never rejects. */
  get(hash: string): Promise<{ readonly token: AccessToken; readonly position: StreamPosition } | null>;
  /** @param position taken before the token was looked up */
  put(token: AccessToken, position: StreamPosition): Promise<void>;
}

/** Milliseconds that an entry lasts in Redis. */
const lifetime = 60_000;
/** And by the reader's clock, so that nobody can restore an old entry. Clocks differ a little. */
const oldest = 90_000;
/** Milliseconds after which it is quicker to ask the store. */
const patience = 250;

/** The fields of an access token in Redis; its hash is the key. */
interface Entry {
  readonly stamp: string;
  readonly at: number;
  readonly id: string;
  readonly userId: string;
  readonly name: string;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
  readonly limits?: ReadLimitsOfToken;
}

/**
 * Tokens in Redis, under their SHA-256. An entry is signed with a key of the store, so that who can write to Redis can
 * not act as somebody; and it says up to which invalidation it is right, so that it counts for nothing once its token was invalidated.
 */
export function createSharedTokens(deps: {
  redis: RedisConnection;
  invalidation: Invalidation;
  keys: Pick<SigningKeys, 'current'>;
  log: Log;
}): SharedTokens {
  const { redis, invalidation, keys, log } = deps;

  const keyedHash = createKeyedHash(keys, 'sluice access token cache 1');
  const sign = (hash: string, text: string): Promise<Buffer> => keyedHash(`${hash}\n${text}`);
  const tell = (error: unknown): void => log.warn({ err: error }, 'an access token in Redis can not be used');

  const read = async (hash: string): Promise<{ token: AccessToken; position: StreamPosition } | null> => {
    const value = await redis.get(keyOf(hash));
    const cut = value?.indexOf('.') ?? -1;
    if (value === null || cut < 0) return null;
    const text = value.slice(cut + 1);
    const signature = Buffer.from(value.slice(0, cut), 'base64url');
    const expected = await sign(hash, text);
    if (signature.length !== expected.length || !timingSafeEqual(signature, expected)) {
      log.warn('an access token in Redis has a wrong signature: it is not used');
      return null;
    }
    const entry = JSON.parse(text) as Entry;
    const position = invalidation.positionOf(entry.stamp);
    return position === null || Math.abs(Date.now() - entry.at) > oldest
      ? null
      : { token: tokenOf(hash, entry), position };
  };

  return {
    async get(hash) {
      // the store knows everything that Redis does
      return unlessLate(unlessAway(read(hash), tell), patience);
    },
    async put(token, position) {
      const text = JSON.stringify(entryOf(token, invalidation.stampOf(position)));
      const signature = (await sign(token.hash, text)).toString('base64url');
      await unlessAway(redis.set(keyOf(token.hash), `${signature}.${text}`, lifetime), tell);
    },
  };
}

export function keyOf(hash: string): string {
  return `sluice:token:1:${hash}`;
}

function entryOf(token: AccessToken, stamp: string): Entry {
  const { id, userId, name, createdAt, expiresAt, revokedAt, limits } = token;
  return {
    ...{ stamp, at: Date.now(), id, userId, name },
    createdAt: createdAt.getTime(),
    expiresAt: expiresAt?.getTime() ?? null,
    revokedAt: revokedAt?.getTime() ?? null,
    ...(limits && { limits }),
  };
}

function tokenOf(hash: string, entry: Entry): AccessToken {
  const { id, userId, name, createdAt, expiresAt, revokedAt, limits } = entry;
  return {
    ...{ id, hash, userId, name },
    createdAt: new Date(createdAt),
    expiresAt: expiresAt === null ? null : new Date(expiresAt),
    revokedAt: revokedAt === null ? null : new Date(revokedAt),
    ...(limits && { limits }),
  };
}
