import type { Invalidation, StreamPosition } from '#coordination/redis/invalidation.ts';
import type { RedisConnection } from '#coordination/redis/redis-connection.ts';
import { ifQuick, unlessAway } from '#coordination/redis/without-redis.ts';
import type { Log } from '#kernel/log/log.ts';
import { type AccessToken, type TokenJson, tokenOfJson } from './access-tokens.ts';
import { equalSecrets } from './equal-secrets.ts';
import { createKeyedHash, type SigningKeys } from './signing-keys.ts';

/** A cache of access tokens that all processes share. */
export interface SharedTokens {
  /** A token as stored at the position; null: look it up. Never rejects. */
  get(hash: string): Promise<{ readonly token: AccessToken; readonly position: StreamPosition } | null>;
  /** @param position taken before the token was looked up */
  put(token: AccessToken, position: StreamPosition): Promise<void>;
}

/** Lifetime of an entry in Redis. Milliseconds. */
const lifetime = 60_000;
/** Its lifetime by the reader's clock, so that nobody can restore an old entry. Clocks differ a little. */
const oldest = 90_000;

/** For a process that looks up every token itself. */
export const unshared: SharedTokens = { get: async () => null, async put() {} };

/**
 * The cache in Redis, by the SHA-256 of a token. An entry is signed with a key of the store, so that a writer to Redis
 * can't forge it. It holds its position in the stream of invalidations, and ends when its token is invalidated.
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
  const tell = (err: unknown): void => log.warn({ err }, 'an access token in Redis cannot be used');

  const read = async (hash: string): Promise<{ token: AccessToken; position: StreamPosition } | null> => {
    const value = await redis.get(keyOf(hash));
    const cut = value?.indexOf('.') ?? -1;
    if (value === null || cut < 0) return null;
    const text = value.slice(cut + 1);
    const signature = Buffer.from(value.slice(0, cut), 'base64url');
    const expected = await sign(hash, text);
    if (!equalSecrets(signature, expected)) {
      log.warn('an access token in Redis has a wrong signature: it is not used');
      return null;
    }
    const { stamp, at, ...token } = JSON.parse(text) as Omit<TokenJson, 'hash'> & {
      stamp: string;
      at: number;
    };
    const position = invalidation.positionOf(stamp);
    return position === null || Math.abs(Date.now() - at) > oldest
      ? null
      : { token: tokenOfJson({ ...token, hash }), position };
  };

  return {
    // everything in Redis is also in the store
    get: (hash) => ifQuick(read(hash), tell),
    async put(token, position) {
      const { hash, ...rest } = token;
      const text = JSON.stringify({ ...rest, stamp: invalidation.stampOf(position), at: Date.now() });
      const signature = (await sign(hash, text)).toString('base64url');
      await unlessAway(redis.set(keyOf(hash), `${signature}.${text}`, lifetime), tell);
    },
  };
}

export function keyOf(hash: string): string {
  return `sluice:token:1:${hash}`;
}
