/** Ids of records, or all that match the view. */
export type RecordSelection = ReadonlySet<string> | 'all';

/** Rows that a click or a key adds to a selection: with Shift from the last one on. */
export function toggleRecord(selected: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(selected);
  if (!next.delete(id)) next.add(id);
  return next;
}

/** @param idAt the id of a row in memory, null for others */
export function extendSelection(
  selected: ReadonlySet<string>,
  from: number,
  to: number,
  idAt: (row: number) => string | null,
): ReadonlySet<string> {
  const next = new Set(selected);
  for (let row = Math.min(from, to); row <= Math.max(from, to); row++) {
    const id = idAt(row);
    if (id !== null) next.add(id);
  }
  return next;
}
