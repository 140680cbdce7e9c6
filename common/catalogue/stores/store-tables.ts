import type { Database } from '#engine/database.ts';
import { textLiteral } from '#engine/literal.ts';
import type { Migration } from '../migrate.ts';
import { recordParts } from '../migrations/record-parts.ts';
import { recordTables } from '../migrations/record-tables.ts';
import { syncedMerges } from '../migrations/synced-merges.ts';
import { deduplication, durable } from '../migrations/table-parts.ts';
import { wholeSlots } from '../migrations/whole-slots.ts';

/** What a store other than the first stores about itself. */
export interface StoreIdentity {
  readonly number: number;
  /** The deployment that it belongs to. */
  readonly deployment: string;
  /** Grows with time. If a store's mark is older than the registry's, the store was set back, for example by a backup. */
  readonly mark: number;
}

/** What the first store stores about another store. */
export interface RegisteredStore {
  readonly number: number;
  /** Comma-separated hosts of its addresses. Empty: the number is unused. */
  readonly hosts: string;
  readonly mark: number;
}

/** What a database contains before anything is written to it. */
export interface StoreFacts {
  /** Set if this is the first store of a deployment. */
  readonly deployment: string | undefined;
  readonly identity: StoreIdentity | null;
  readonly hasRecords: boolean;
}

/** All migrations of a store other than the first. */
export const storeMigrations: readonly Migration[] = [
  recordTables,
  {
    version: 105,
    name: 'store identity',
    statements: (database, layout) => [
      `CREATE TABLE IF NOT EXISTS ${database}.store_identity (number UInt16, deployment String, mark UInt64)
        ENGINE = ${layout.engine(`${database}.store_identity`, 'ReplacingMergeTree(mark)')} ORDER BY number
        SETTINGS ${deduplication(layout)}, ${durable}`,
    ],
  },
  syncedMerges(['migrations', 'records', 'record_keys', 'store_identity']),
  wholeSlots,
  recordParts,
];

export async function readFacts(db: Database, database: string, signal: AbortSignal): Promise<StoreFacts> {
  const names = ['deployments', 'store_identity', 'records'];
  const tables = await db.rows<{ name: string }>({
    sql: `SELECT name FROM system.tables WHERE database = ${textLiteral(database)}
      AND name IN (${names.map(textLiteral).join(', ')})`,
    signal,
  });
  const has = new Set(tables.map(({ name }) => name));
  const rows = async <Row>(table: string, sql: string): Promise<Row[]> =>
    has.has(table) ? db.rows<Row>({ sql: `SELECT ${sql}`, signal }) : [];
  const [own] = await rows<{ id: string }>('deployments', `id FROM ${database}.deployments`);
  const records = await rows('records', `1 FROM ${database}.records LIMIT 1`);
  return {
    deployment: own?.id,
    identity: has.has('store_identity') ? await readIdentity(db, database, signal) : null,
    hasRecords: records.length > 0,
  };
}

export async function readIdentity(
  db: Database,
  database: string,
  signal: AbortSignal,
): Promise<StoreIdentity | null> {
  const sql = `SELECT number, deployment, toFloat64(mark) AS mark FROM ${database}.store_identity FINAL`;
  return (await db.rows<StoreIdentity>({ sql, signal }))[0] ?? null;
}

/** @param first of several concurrent calls with it, only the first counts */
export function writeIdentity(
  db: Database,
  database: string,
  { number, deployment, mark }: StoreIdentity,
  { first = false, signal }: { readonly first?: boolean; readonly signal: AbortSignal },
): Promise<void> {
  return db.insert({
    table: `${database}.store_identity`,
    columns: ['number', 'deployment', 'mark'],
    lines: Buffer.from(`${JSON.stringify([number, deployment, mark])}\n`),
    ...(first ? { token: 'identity' } : {}),
    signal,
  });
}

/** The table `stores` of the first store. */
export class StoreRegistry {
  readonly #db: Database;
  readonly #table: string;
  readonly #spaces: string;

  constructor(db: Database, database: string) {
    this.#db = db;
    this.#table = `${database}.stores`;
    this.#spaces = `${database}.record_spaces`;
  }

  read(signal: AbortSignal): Promise<readonly RegisteredStore[]> {
    const sql = `SELECT number, hosts, toFloat64(mark) AS mark FROM ${this.#table} FINAL ORDER BY number`;
    return this.#db.rows<RegisteredStore>({ sql, signal });
  }

  /** @param args.fresh the number is new: if several stores take it at once, only the first gets it */
  write(
    { number, hosts, mark }: RegisteredStore,
    { fresh = false, signal }: { readonly fresh?: boolean; readonly signal: AbortSignal },
  ): Promise<void> {
    return this.#db.insert({
      table: this.#table,
      columns: ['number', 'hosts', 'mark'],
      lines: Buffer.from(`${JSON.stringify([number, hosts, mark])}\n`),
      ...(fresh ? { token: `store:${number}` } : {}),
      signal,
    });
  }

  /** The stores that hold spaces, with some names of spaces. */
  used(signal: AbortSignal): Promise<readonly { number: number; count: number; some: readonly string[] }[]> {
    const sql = `SELECT store AS number, toFloat64(count()) AS count,
        groupArray(5)(concat(project_slug, '/', slug)) AS some
      FROM ${this.#spaces} FINAL WHERE store != 0 AND slug != '' GROUP BY store`;
    return this.#db.rows({ sql, signal });
  }
}
