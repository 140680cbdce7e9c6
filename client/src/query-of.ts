/** The values that are there, for the query of an address. */
export function queryOf(values: object): string {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  return `${new URLSearchParams(given)}`;
}

/** A path, which may have a query, with more of it. */
export function withQuery(path: string, query: string): string {
  return query ? path + (path.includes('?') ? '&' : '?') + query : path;
}
