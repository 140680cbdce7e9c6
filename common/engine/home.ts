/**
 * The home of a statement is its routing key: statements with the same home go to the same server. For records in a store
 * other than the first, it begins with the number of the store.
 */
export function homeIn(store: number, home: string): string {
  return store === 0 ? home : `@${store} ${home}`;
}

/** The number of a home's store; 0: the first. */
export function storeOf(home: string | undefined): number {
  return home?.startsWith('@') ? Number.parseInt(home.slice(1), 10) : 0;
}
