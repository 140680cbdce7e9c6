/**
 * Ids of spaces are UUIDs: of version 5 in the first store, and of version 8 in any other. Version 8
 * leaves its bits to the application (https://www.rfc-editor.org/rfc/rfc9562#section-5.8): three digits are the number of
 * the store.
 */
const versionAt = 14;
export const mostStores = 1023;

export function idInStore(id: string, store: number): string {
  if (store === 0) return id;
  return `${id.slice(0, versionAt)}8${store.toString(16).padStart(3, '0')}${id.slice(versionAt + 4)}`;
}

export function storeOfRecords(id: string): number {
  const number = id[versionAt] === '8' ? Number.parseInt(id.slice(versionAt + 1, versionAt + 4), 16) : 0;
  // the first store has ids of version 8 too
  return number > mostStores ? 0 : number;
}

/** A UUID of version 8: spaces of the first store have version 5, and other ids have another ending. */
export function receiptSpace(home: number, store: number): string {
  return idInStore(`0${home.toString(16)}c6a1d2-51f3-8d4e-9b07-3e8a2f6c4d90`, store);
}
