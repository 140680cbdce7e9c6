/** Who can write to Redis, and no more, can not act as somebody. */
import t from 'tap';
import { type AccessToken, hashToken } from '#auth/access-tokens.ts';
import { createSharedTokens, keyOf } from '#auth/shared-tokens.ts';
import { createConfiguredKeys } from '#auth/signing-keys.ts';
import type { RedisConnection } from '#coordination/redis/redis-connection.ts';
import { LocalInvalidation } from '../services/local-invalidation.ts';
import { silentLog } from '../services/silent-log.ts';

const token: AccessToken = {
  id: 'id',
  hash: hashToken('t'),
  userId: 'victim',
  name: '',
  createdAt: new Date(),
  expiresAt: null,
  revokedAt: null,
};

function open(secret = 'of this store', entries = new Map<string, string>()) {
  const invalidation = new LocalInvalidation();
  const redis = {
    get: async (key: string) => entries.get(key) ?? null,
    set: async (key: string, value: string) => void entries.set(key, value),
  } as unknown as RedisConnection;
  const keys = createConfiguredKeys(secret);
  const shared = createSharedTokens({ redis, invalidation, keys, log: silentLog() });
  return { shared, entries, position: invalidation.position() };
}

t.test('an entry counts as it was written, and under its own hash', async (t) => {
  const { shared, entries, position } = open();
  await shared.put(token, position);
  t.strictSame((await shared.get(token.hash))?.token, token);
  const limited = { ...token, hash: hashToken('limited'), limits: { maxRows: 5 } };
  await shared.put(limited, position);
  t.strictSame((await shared.get(limited.hash))?.token, limited);
  const written = entries.get(keyOf(token.hash)) as string;
  const other = hashToken('other');
  for (const [name, hash, value] of [
    ['changed', token.hash, written.replace('victim', 'mallet')],
    ['moved', other, written],
    ['without a signature', token.hash, written.slice(written.indexOf('.'))],
    ['junk', token.hash, 'junk'],
  ] as const) {
    entries.set(keyOf(hash), value);
    t.equal(await shared.get(hash), null, name);
  }
});

t.test('an entry of another store, or an old one, counts for nothing', async (t) => {
  const { shared, entries, position } = open();
  await open('of another store', entries).shared.put(token, position);
  t.equal(await shared.get(token.hash), null);
  await shared.put(token, position);
  const time = Date.now();
  t.intercept(Date, 'now', { value: () => time + 80_000 });
  t.not(await shared.get(token.hash), null);
  t.intercept(Date, 'now', { value: () => time + 91_000 });
  t.equal(await shared.get(token.hash), null);
});
