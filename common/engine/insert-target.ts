/** The beginning of an INSERT, and the format of its rows. @param columns absent: each row names its columns */
export function insertTarget(
  table: string,
  columns: readonly string[] | undefined,
): { readonly into: string; readonly format: 'JSONEachRow' | 'JSONCompactEachRow' } {
  if (columns === undefined) return { into: `INSERT INTO ${table}`, format: 'JSONEachRow' };
  return { into: `INSERT INTO ${table} (${columns.join(', ')})`, format: 'JSONCompactEachRow' };
}
