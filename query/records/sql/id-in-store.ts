/**
 * Ids of records' spaces are UUIDs. In the first store they are of version 5; those in another one are of version 8, which
 * leaves the bits to us (https://www.rfc-editor.org/rfc/rfc9562#section-5.8): three digits are the number of the store.
 */
const versionAt = 14;
export const mostStores = 1023;

export function idInStore(id: string, store: number): string {
  if (store === 0) return id;
  return `${id.slice(0, versionAt)}8${store.toString(16).padStart(3, '0')}${id.slice(versionAt + 4)}`;
}

export function storeOfRecords(id: string): number {
  const number = id[versionAt] === '8' ? Number.parseInt(id.slice(versionAt + 1, versionAt + 4), 16) : 0;
  // other ids of ours in the first store are of version 8, too
  return number > mostStores ? 0 : number;
}

/** UUIDs of version 8: those of record spaces in the first store are of version 5, and others end otherwise. */
export function receiptSpace(home: number, store: number): string {
  return idInStore(`0${home.toString(16)}c6a1d2-51f3-8d4e-9b07-3e8a2f6c4d90`, store);
}
