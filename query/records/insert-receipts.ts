import { createHash, type Hash } from 'node:crypto';
import { idempotencyKeyReused } from '../../common/errors/catalogue.ts';
import type { HttpRequest } from '../../common/http/http-types.ts';
import {
  daysOfKeys,
  hashOfTexts,
  keyLifetime,
  readIdempotencyKey,
} from '../../common/http/idempotency-key.ts';
import { forEachYielding } from '../../common/limits/yielding-loop.ts';
import type { Log } from '../../common/log/log.ts';
import type { SpacedRow } from '../sql/record-row.ts';
import type { StoredRow } from '../sql/stored-row.ts';
import type { RecordStore } from '../store/record-store.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import { createStructure } from '../structure/structure.ts';
import { recordKey } from '../unique/reservation-keys.ts';

/** An insert with an `Idempotency-Key`. */
export interface InsertKey {
  readonly key: string;
  readonly request: Pick<HttpRequest, 'params'>;
  readonly body: unknown;
}

/** Undefined: the request has no key. */
export function readInsertKey(request: HttpRequest, body: unknown): InsertKey | undefined {
  const key = readIdempotencyKey(request);
  return key === undefined ? undefined : { key, request, body };
}

/** The result of an insert: the ids of its records count up from the first. */
export interface Receipt {
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
 * Receipts of inserts with an `Idempotency-Key`, for a day. A receipt is a row of the records table, in a space of
 * nobody's, and is written together with the records: either is there when the other is. The answer is made again of
 * the request, which is the same.
 */
export class InsertReceipts {
  readonly #store: Pick<RecordStore, 'table' | 'lookUp'>;
  readonly #now: () => number;

  constructor(store: Pick<RecordStore, 'table' | 'lookUp'>, now: () => number) {
    this.#store = store;
    this.#now = now;
  }

  of(space: RecordSpace, { key, request, body }: InsertKey): KeyedInsert {
    const spaceId = this.#store.table.receiptsOf(space.id);
    const hash = hashOfTexts(space.ownerId, key);
    const [today, yesterday] = daysOfKeys(this.#now()).map((day) => `${day}-${hash}`) as [string, string];
    // the same for all accounts: an ordinary space, with the share of an account in memory
    const receipts = { id: spaceId, catalogueId: spaceId, ownerId: spaceId, projectId: '' };
    const receiptSpace = { ...receipts, structure: noStructure, stored: noStructure };
    return {
      reservation: recordKey(receiptSpace, hash),
      find: async (signal) => {
        const find = (id: string) => this.#store.lookUp(receiptSpace, { id }, signal);
        const rows = (await Promise.all([find(today), find(yesterday)])).flat();
        const since = this.#now() - keyLifetime;
        const row = rows.find(({ _created_at: createdAt }) => Date.parse(createdAt) > since);
        if (row === undefined) return null;
        if (row._doc.m0 !== (await digestOf(request, body, signal))) throw idempotencyKeyReused();
        return { firstId: row._doc.m1 ?? '', createdAt: row._created_at };
      },
      row: async ({ firstId, createdAt }, signal) => {
        const doc = { m0: await digestOf(request, body, signal), m1: firstId };
        const row: StoredRow = { _id: today, _created_at: createdAt, _updated_at: createdAt, _doc: doc };
        return { spaceId, row, hashes: {} };
      },
    };
  }
}

export interface KeyedInsert {
  /** The key that is reserved while it goes on. */
  readonly reservation: string;
  /** Of the first request with the key; null: this is it. Throws 422 when that was another one. */
  find(signal: AbortSignal): Promise<Receipt | null>;
  /** The row that stores this one. */
  row(receipt: Receipt, signal: AbortSignal): Promise<SpacedRow>;
}

/** A digest of everything that makes a request another one. A long array does not hold up the process. */
async function digestOf(
  { params }: Pick<HttpRequest, 'params'>,
  body: unknown,
  signal: AbortSignal,
): Promise<string> {
  const isArray = Array.isArray(body);
  const hash: Hash = createHash('sha256').update(JSON.stringify([params.project, params.space, isArray]));
  const items: readonly unknown[] = isArray ? body : [body];
  await forEachYielding(items, (item) => void hash.update(`\n${JSON.stringify(item)}`), signal);
  return hash.digest('base64url');
}

/** Ids that count up from one, in its last 48 bits. The highest bit is left free for that. */
export function idsFrom(id: string): () => string {
  const head = id.slice(0, -12);
  let tail = Number.parseInt(id.slice(-12), 16) % 2 ** 47;
  return () => head + (tail++).toString(16).padStart(12, '0');
}

/** Deletes receipts that nobody asks for any more. Never rejects. */
export async function sweepReceipts(
  { store, log, now = Date.now }: { store: RecordStore; log: Pick<Log, 'warn'>; now?: () => number },
  signal: AbortSignal,
): Promise<void> {
  const { db, table } = store;
  const [, oldest] = daysOfKeys(now());
  const where = `_id < '${oldest}'`;
  try {
    for (const id of table.receiptSpaces) {
      const old = await db.rows({ ...table.select(id, { columns: '1', where, tail: 'LIMIT 1' }), signal });
      if (old.length > 0)
        await store.rewrite(id, () => db.command({ ...table.clearBefore(id, `${oldest}`), signal }));
    }
  } catch (err) {
    if (!signal.aborted) log.warn({ err }, 'receipts of inserts are left to the next sweep');
  }
}
