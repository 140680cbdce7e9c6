import { recordsTable } from '#catalogue/migrations/record-tables.ts';
import type { Database } from '#engine/database.ts';
import { textLiteral } from '#engine/literal.ts';
import { uuidV5 } from '#kernel/ids/uuid-v5.ts';
import { testDatabase as database } from './query-harness.ts';

/** A row of the records table, with whatever columns. */
export type StoredRow = Readonly<Record<string, unknown>>;

/** What the engine has of one record space, beside the service. */
export interface StoredSpace {
  readonly id: string;
  /** By the slugs of fields. */
  readonly slots: Readonly<Record<string, string>>;
  /** SQL for what is stored of a field: its column, or its place in a map. */
  column(slug: string): string;
  /** @param columns SQL; absent: all @param tail from AND on, such as `AND n0 = 1 ORDER BY _id` */
  rows<Row = StoredRow>(columns?: string, tail?: string): Promise<Row[]>;
  /** Keys in both tables; one that is there twice counts once. */
  keys(): Promise<{ key: string; _id: string }[]>;
  /** Removes records, of which the service learns nothing. @param where SQL; absent: all */
  remove(where?: string): Promise<void>;
}

/** Finds a space by its path. Throws when the catalogue does not have it. */
export async function storedSpace(
  db: Database,
  { project, slug, owner = 'owner' }: { project: string; slug: string; owner?: string },
): Promise<StoredSpace> {
  const id = uuidV5(owner, project, slug);
  const [entry] = await db.rows<{ slots: string }>({
    sql: `SELECT slots FROM ${database}.record_spaces FINAL WHERE id = ${textLiteral(id)}`,
  });
  if (entry === undefined) throw new Error(`the catalogue has no space ${owner}/${project}/${slug}`);
  const stored = Object.entries(JSON.parse(entry.slots) as Record<string, [string, boolean]>);
  const slots = Object.fromEntries(stored.map(([field, [slot]]) => [field, slot]));
  const ofSpace = `space = ${textLiteral(id)}`;
  return {
    id,
    slots,
    column(slug) {
      const slot = slots[slug];
      if (slot === undefined) throw new Error(`the space has no field ${slug}`);
      if (slot.startsWith('h')) return `_hashes['${slot}']`;
      return slot.startsWith('m') ? `_doc['${slot}']` : slot;
    },
    rows: (columns = '*', tail = '') =>
      db.rows({ sql: `SELECT ${columns} FROM ${database}.${recordsTable} WHERE ${ofSpace} ${tail}` }),
    keys: () =>
      db.rows({
        sql: `SELECT DISTINCT toString(key) AS key, _id FROM (SELECT key, _id FROM ${database}.record_keys WHERE ${ofSpace}
          UNION ALL SELECT arrayJoin(_keys) AS key, _id FROM ${database}.${recordsTable} WHERE ${ofSpace}) ORDER BY _id, key`,
      }),
    remove: (where = 'true') =>
      db.command({
        sql: `DELETE FROM ${database}.${recordsTable} WHERE ${ofSpace} AND (${where})
          SETTINGS lightweight_delete_mode = 'lightweight_update_force'`,
      }),
  };
}
