import { createHash } from 'node:crypto';
import { idempotencyKeyReused } from '#kernel/errors/catalogue.ts';
import { daysOfKeys, hashOfTexts, keyLifetime } from '#kernel/ids/key-lifetime.ts';
import { forEachYielding } from '#kernel/limits/yielding-loop.ts';
import type { Log } from '#kernel/log/log.ts';
import type { SpacedRow } from './sql/record-row.ts';
import type { RecordStore } from './store/record-store.ts';
import type { RecordSpace } from './structure/record-space.ts';
import { createStructure } from './structure/structure.ts';
import { recordKey } from './unique/reservation-keys.ts';

export interface InsertKey {
  readonly key: string;
  /** The user bound by rules; null: a stranger; absent: no rules apply, and all tokens of the account share its keys. */
  readonly user: string | null | undefined;
  /** The owner of the address that the request came from. */
  readonly sender: string;
  /** From the path of the request. */
  readonly params: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/**
 * The texts that scope a key: no user may get the answer of another. Strangers are distinguished by their addresses,
 * which they may share. Their bodies count too, so a key that is taken reveals nothing.
 */
function keyTexts({ key, user, sender }: InsertKey, digest: string): readonly string[] {
  if (user === undefined) return [key];
  return user === null ? ['', sender, digest, key] : [user, key];
}

/** The result of an insert: the ids of its records count up from the first. */
interface Receipt {
  readonly firstId: string;
  /** ISO 8601. */
  readonly createdAt: string;
}

const noStructure = createStructure({
  name: null,
  description: null,
  projectSlug: '',
  slug: '',
  fields: [],
  clear: false,
});

/**
 * An insert with an `Idempotency-Key`. Its receipt is kept for a day, as a row of the records table in a space without an
 * owner. Records and receipt are written together, all or none. A repeated request has the same body, so its answer is
 * computed from it again.
 */
export class KeyedInsert {
  readonly #parts: InsertParts;
  /** Digest of the request. */
  readonly #digest: string;
  readonly #space: RecordSpace;
  readonly #receipts: RecordSpace;
  /** Ids that its receipt may have: today's and yesterday's. */
  readonly #ids: readonly string[];
  /** The key that is reserved until the insert ends. */
  readonly reservation: string;

  static async of(
    parts: InsertParts,
    space: RecordSpace,
    { asked, signal }: { readonly asked: InsertKey; readonly signal: AbortSignal },
  ): Promise<KeyedInsert> {
    const digest = await digestOf(asked, signal);
    return new KeyedInsert(parts, space, { texts: keyTexts(asked, digest), digest });
  }

  private constructor(
    parts: InsertParts,
    space: RecordSpace,
    { texts, digest }: { readonly texts: readonly string[]; readonly digest: string },
  ) {
    this.#parts = parts;
    this.#digest = digest;
    this.#space = space;
    const id = parts.store.table.receiptsOf(space.id);
    const hash = hashOfTexts(space.ownerId, ...texts);
    // its memory counts like that of any account
    const ids = { id, catalogueId: id, ownerId: id, projectId: '' };
    this.#receipts = { ...ids, structure: noStructure, stored: noStructure };
    this.#ids = daysOfKeys(parts.now()).map((day) => `${day}-${hash}`);
    this.reservation = recordKey(this.#receipts, hash);
  }

  /**
   * The receipt of the first request with the key; null: this is the first. Throws 422 when the first was a different
   * request.
   */
  async find(signal: AbortSignal): Promise<Receipt | null> {
    const { store, now } = this.#parts;
    const rows = await Promise.all(this.#ids.map((id) => store.lookUp(this.#receipts, { id }, signal)));
    const since = now() - keyLifetime;
    const row = rows.flat().find(({ _created_at: createdAt }) => Date.parse(createdAt) > since);
    if (row === undefined) return null;
    if (row._doc.m0 !== this.#digest) throw idempotencyKeyReused();
    return { firstId: row._doc.m1 ?? '', createdAt: row._created_at };
  }

  row({ firstId, createdAt }: Receipt): SpacedRow {
    // the receipts of a space move with it to another store
    const _doc = { m0: this.#digest, m1: firstId, m2: this.#space.catalogueId };
    const row = { _id: this.#ids[0] as string, _created_at: createdAt, _updated_at: createdAt, _doc };
    return { spaceId: this.#receipts.id, row, hashes: {} };
  }
}

interface InsertParts {
  readonly store: Pick<RecordStore, 'table' | 'lookUp'>;
  readonly now: () => number;
}

/** A digest of everything that distinguishes requests. A long array does not block the event loop. */
async function digestOf({ params, body }: InsertKey, signal: AbortSignal): Promise<string> {
  const isArray = Array.isArray(body);
  const hash = createHash('sha256').update(JSON.stringify([params.project, params.space, isArray]));
  const items: readonly unknown[] = isArray ? body : [body];
  await forEachYielding(items, (item) => void hash.update(`\n${JSON.stringify(item)}`), signal);
  return hash.digest('base64url');
}

/** An id whose last 48 bits can count up: the highest of them is left free. */
export function idsFrom(id: string): () => string {
  let place = 0;
  const { head, tail } = partsOf(id);
  return () => head + hexOf(tail + place++);
}

/** The id at a position, counted up from the first. */
export function idAt(id: string, place: number): string {
  const { head, tail } = partsOf(id);
  return head + hexOf(tail + place);
}

function partsOf(id: string): { readonly head: string; readonly tail: number } {
  return { head: id.slice(0, -12), tail: Number.parseInt(id.slice(-12), 16) % 2 ** 47 };
}

/** Twelve digits, in halves: formatting a number of more than 31 bits takes ten times as long. */
function hexOf(number: number): string {
  const low = number % 2 ** 24;
  return digitsOf((number - low) / 2 ** 24) + digitsOf(low);
}

function digitsOf(half: number): string {
  return half.toString(16).padStart(6, '0');
}

/** Deletes expired receipts. Never rejects. */
export async function sweepReceipts(
  { store, log, now = Date.now }: { store: RecordStore; log: Pick<Log, 'warn'>; now?: () => number },
  signal: AbortSignal,
): Promise<void> {
  const { db, table } = store;
  const [, oldest] = daysOfKeys(now());
  const where = `_id < '${oldest}'`;
  try {
    const stores = db.stores.all.filter(({ available }) => available);
    for (const id of stores.flatMap(({ number }) => table.receiptSpaces(number))) {
      const old = await db.rows({ ...table.select(id, { columns: '1', where, tail: 'LIMIT 1' }), signal });
      if (old.length > 0)
        await store.rewrite(id, () => db.command({ ...table.clear(id, String(oldest)), signal }));
    }
  } catch (err) {
    if (!signal.aborted) log.warn({ err }, 'receipts of inserts are left to the next sweep');
  }
}
