/** The format of an INSERT's rows, and the columns that they have. @param columns absent: rows name theirs */
export function insertFormat(columns: readonly string[] | undefined):
  | { readonly format: 'JSONEachRow' }
  | {
      readonly format: 'JSONCompactEachRow';
      readonly columns: readonly string[];
    } {
  return columns === undefined ? { format: 'JSONEachRow' } : { format: 'JSONCompactEachRow', columns };
}

/** How an INSERT begins, and the format of its rows. */
export function insertTarget(
  table: string,
  columns: readonly string[] | undefined,
): { readonly into: string; readonly format: string } {
  const named = columns === undefined ? '' : ` (${columns.join(', ')})`;
  return { into: `INSERT INTO ${table}${named}`, format: insertFormat(columns).format };
}
