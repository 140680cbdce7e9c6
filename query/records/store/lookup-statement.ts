import type { StatementItem } from '#engine/statement-queues.ts';
import { rowColumns } from '../sql/record-row.ts';
import type { RecordsTable, Sql } from '../sql/records-table.ts';
import type { StoredRow } from '../sql/stored-row.ts';
import type { SlotValue } from '../sql/terms.ts';
import { addToList } from './add-to-list.ts';
import type { Engine, LookupKey } from './record-store.ts';

/** A look-up of one record by its id, or of the records with a value of a keyed slot. */
export interface Lookup extends StatementItem {
  readonly spaceId: string;
  readonly wanted: LookupKey;
}

/** Milliseconds; others wait for a statement too, so no request's signal ends it. */
export const timeout = 30_000;

export async function readLookups(
  { db, table }: Engine,
  lookups: readonly Lookup[],
): Promise<(lookup: Lookup) => readonly StoredRow[]> {
  const rows = await db.rows<StoredRow & { readonly _space: string }>({
    ...statementOf(table, lookups),
    signal: AbortSignal.timeout(timeout),
  });
  rows.sort((a, b) => (a._id < b._id ? -1 : 1));
  const slots = new Set(lookups.flatMap(({ wanted }) => ('id' in wanted ? [] : wanted.slot)));
  const found = new Map<string, StoredRow[]>();
  for (const row of rows) {
    const { _space, _id, _doc } = row;
    const place = `${_space} ${_id}`;
    // the table may have it twice
    if (found.has(place)) continue;
    addToList(found, place, row);
    // a term can stand for several values, so compare the record's value
    for (const slot of slots) {
      if (_doc[slot] !== undefined) addToList(found, `${_space} ${slot} ${_doc[slot]}`, row);
    }
  }
  return ({ spaceId, wanted }) => {
    const key = 'id' in wanted ? wanted.id : `${wanted.slot} ${wanted.value}`;
    return found.get(`${spaceId} ${key}`) ?? [];
  };
}

function statementOf(table: RecordsTable, lookups: readonly Lookup[]): Sql {
  const ids = [];
  const values: SlotValue[] = [];
  for (const { spaceId, wanted } of lookups) {
    if ('id' in wanted) ids.push({ spaceId, id: wanted.id });
    else values.push({ spaceId, ...wanted });
  }
  return ids.length > 0
    ? table.selectByIds(ids, rowColumns)
    : table.selectByValues(values, `toString(space) AS _space, ${rowColumns}`);
}
