/** A ClickHouse installation: a server, replicas, a cloud. The records of a space are in one store. */
export interface StoreState {
  /** Its number in the catalogue. 0: the first store, which also has the accounts, the files and the catalogue. */
  readonly number: number;
  /** Host and port of its first address. */
  readonly name: string;
  /** Comma-separated hosts of all its addresses. */
  readonly hosts: string;
  readonly available: boolean;
}

export interface StoreList {
  readonly all: readonly StoreState[];
  /** The store for a new space: they are spread evenly, and a new store moves no existing space. @param key id of the space */
  choose(key: string): number;
}

/** The list of an engine that has all tables. */
export function oneStore(name: string): StoreList {
  return { all: [{ number: 0, name, hosts: name, available: true }], choose: () => 0 };
}
