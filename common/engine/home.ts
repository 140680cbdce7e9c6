/**
 * The home of a statement is its routing key: statements with the same one go to the same server. That of records in
 * another store than the first begins with the number of the store.
 */
export function homeIn(store: number, home: string): string {
  return store === 0 ? home : `@${store} ${home}`;
}

/** The number of the store that a home is in; 0: the first. */
export function storeOf(home: string | undefined): number {
  return home?.startsWith('@') ? Number.parseInt(home.slice(1), 10) : 0;
}
