import { createHash, createHmac, randomBytes, randomUUID } from 'node:crypto';
import type { Database } from '#engine/database.ts';
import { rowLine, timestampText } from '#kernel/ids/row-values.ts';
import { pacedRefresh } from '#kernel/limits/paced-refresh.ts';

/** A secret that signs login tokens; it is never logged and never answered. */
export interface SigningKey {
  /** The header of the tokens that the key signed names it. */
  readonly id: string;
  readonly secret: Uint8Array;
}

export interface SigningKeys {
  /** The key for new signatures; created if there is none. */
  current(): Promise<SigningKey>;
  find(id: string): Promise<SigningKey | null>;
}

/** The key derived from a configured secret: the same in every process that has it. */
export function createConfiguredKeys(secret: string): SigningKeys {
  const bytes = createHash('sha256').update('sluice login token\0').update(secret).digest();
  // identifies the key without revealing anything about the secret
  const id = createHash('sha256').update('id\0').update(bytes).digest('hex').slice(0, 16);
  const key: SigningKey = { id, secret: bytes };
  return { current: async () => key, find: async (wanted) => (wanted === id ? key : null) };
}

const keyBytes = 32;
/** Least milliseconds between two reads of the store for unknown keys, however many tokens name some. */
const refreshInterval = 1000;

/**
 * Keys in the store. Two processes that start on an empty store may each create one: both sign with the older key as
 * soon as they see it, and each accepts the other's signatures.
 */
export function createStoredKeys({ db, database }: { db: Database; database: string }): SigningKeys {
  const table = `${database}.signing_keys`;
  let known = new Map<string, SigningKey>();
  let making: Promise<SigningKey> | null = null;

  const load = async (): Promise<void> => {
    const rows = await db.rows<{ id: string; secret: string }>({
      sql: `SELECT id, secret FROM ${table} ORDER BY created_at, id`,
    });
    known = new Map(rows.map(({ id, secret }) => [id, { id, secret: Buffer.from(secret, 'base64') }]));
  };
  const refresh = pacedRefresh(load, refreshInterval);
  const oldest = (): SigningKey | null => known.values().next().value ?? null;

  const make = async (): Promise<SigningKey> => {
    await load();
    const found = oldest();
    if (found !== null) return found;
    const secret = randomBytes(keyBytes).toString('base64');
    await db.insert({
      table,
      columns: ['id', 'secret', 'created_at'],
      lines: rowLine([randomUUID(), secret, timestampText(new Date())]),
    });
    await load();
    const made = oldest();
    if (made === null) throw new Error('the signing key that was just made is not there');
    return made;
  };

  return {
    async current() {
      const key = oldest();
      if (key !== null) return key;
      making ??= make().finally(() => {
        making = null;
      });
      return making;
    },
    async find(id) {
      const key = known.get(id);
      if (key !== undefined) return key;
      // another process may have created it a moment ago
      await refresh();
      return known.get(id) ?? null;
    },
  };
}

export type KeyedHash = (text: string) => Promise<Buffer>;

/** A keyed hash (HMAC) with a key derived for one purpose: the key of login tokens signs nothing else. */
export function createKeyedHash(keys: Pick<SigningKeys, 'current'>, purpose: string): KeyedHash {
  return async (text) => {
    const { secret } = await keys.current();
    const key = createHmac('sha256', secret).update(purpose).digest();
    return createHmac('sha256', key).update(text).digest();
  };
}
