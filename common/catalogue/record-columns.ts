import type { Database } from '#engine/database.ts';
import { columnOf, firstColumns, recordsTable, slotColumns } from './migrations/record-tables.ts';

/**
 * Columns of the records tables. A table begins with a few, and gets another when the first structure has a field for it:
 * a column costs every INSERT and every merge, even if no record has a value for it (docs/decisions/094-columns-when-needed.md).
 * Adding one is no mutation: parts stay as they are.
 */
export class RecordColumns {
  readonly #db: Pick<Database, 'command' | 'replicated'>;
  readonly #database: string;
  /** Those that are there for certain, by the home of their table. */
  readonly #present = new Map<string, Set<string>>();

  constructor(services: {
    readonly db: Pick<Database, 'command' | 'replicated'>;
    readonly database: string;
  }) {
    this.#db = services.db;
    this.#database = services.database;
  }

  /** Resolves when a table has the columns of these slots. @param home of the table, as of a statement */
  async ensure(home: string, slots: readonly string[], signal: AbortSignal): Promise<void> {
    const present = this.#present.get(home) ?? new Set(firstColumns(this.#db.replicated));
    this.#present.set(home, present);
    const missing = [...new Set(slots)].filter((slot) => isColumn(slot) && !present.has(slot));
    if (missing.length === 0) return;
    const added = missing.map((slot) => `ADD COLUMN IF NOT EXISTS ${columnOf(slot)}`);
    const sql = `ALTER TABLE ${this.#database}.${recordsTable} ${added.join(', ')}`;
    await this.#db.command({ sql, home, signal, onEach: true });
    for (const slot of missing) present.add(slot);
  }
}

/** Other slots have no column (query/records/structure/slots.ts). */
function isColumn(slot: string): boolean {
  return Object.hasOwn(slotColumns, slot.slice(0, 1));
}
