import type { Database } from '../../common/clickhouse/database.ts';
import { topologyOf } from '../../common/clickhouse/topology.ts';

/**
 * Merges tables whose unique fields were updated: until a merge, the index of an updated column is of no use, and a
 * look-up by it reads the whole column (docs/decisions/003-updates.md). A merge and not a mutation, which would be
 * quicker: a mutation loses an update that runs beside it.
 */
export interface PatchFolder {
  /** The index of one of the table's columns can't be used. @param table quoted, with its database */
  note(table: string): void;
}

interface TableState {
  lastMerge: number;
  merging: boolean;
  again: boolean;
}

/**
 * @param args.delay milliseconds from the first note to the merge, so that more updates are merged with it
 * @param args.restShare a merge comes no sooner after the last one than so many times what that one took
 * @param args.largest rows of a table that is left to the engine's own merges
 */
export function createPatchFolder(args: {
  db: Database;
  delay: number;
  restShare: number;
  largest: number;
}): PatchFolder {
  const { db, delay, restShare, largest } = args;
  const { rowsEverywhere } = topologyOf(db);
  const states = new Map<string, TableState>();

  const schedule = (table: string, state: TableState): void => {
    const wait = Math.max(delay, state.lastMerge * restShare);
    setTimeout(() => void merge(table, state), wait).unref();
  };

  const merge = async (table: string, state: TableState): Promise<void> => {
    state.merging = true;
    state.again = false;
    const start = performance.now();
    try {
      const sql = `SELECT toFloat64(count()) AS n FROM ${table}`;
      const [row] = await db.rows<{ n: number }>(sql, undefined, table);
      const merge = `OPTIMIZE TABLE ${rowsEverywhere(table)} FINAL`;
      if ((row?.n ?? 0) <= largest) await db.command(merge, undefined, undefined, table);
    } catch {
      // nothing is wrong but the speed of look-ups; the next update tries again
    }
    state.lastMerge = performance.now() - start;
    state.merging = false;
    if (state.again) schedule(table, state);
    else states.delete(table);
  };

  return {
    note(table) {
      const known = states.get(table);
      if (known !== undefined) {
        if (known.merging) known.again = true;
        return;
      }
      const state = { lastMerge: 0, merging: false, again: false };
      states.set(table, state);
      schedule(table, state);
    },
  };
}
