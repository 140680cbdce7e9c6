/** A ClickHouse as its operator runs it: a server, replicas, a cloud. The records of a space are in one store. */
export interface StoreState {
  /** Under which the catalogue knows it. 0: the first, which also has the accounts, the files and the catalogue. */
  readonly number: number;
  /** Host and port of its first address. */
  readonly name: string;
  /** Of all its addresses, with commas between. */
  readonly hosts: string;
  readonly available: boolean;
}

export interface StoreList {
  readonly all: readonly StoreState[];
  /** The store of a new space: each has its share of them, and a new store moves none of the others. @param key id of the space */
  choose(key: string): number;
}

/** Of an engine that has all tables. */
export function oneStore(name: string): StoreList {
  return { all: [{ number: 0, name, hosts: name, available: true }], choose: () => 0 };
}
