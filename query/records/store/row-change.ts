import type { StoredRow } from '../sql/stored-row.ts';

/** What a write did to a record. */
export interface RowChange {
  readonly id: string;
  /** Null: there was none. Undefined: it is not known. */
  readonly before: StoredRow | null | undefined;
  /** Null: it is gone. */
  readonly after: StoredRow | null;
}

/** Hears what happens to the records of a space. */
export interface ChangeListener {
  /**
   * The changes of writes that a find can see by now, in their order.
   * @param changes made as they are taken, which may be later @param count how many there are
   */
  changed(changes: Iterable<RowChange>, count: number): void;
  /** Runs a read of rows that changed, and its telling, while the listener reads none: what it tells never goes back. */
  exclusive<Result>(read: () => Promise<Result>): Promise<Result>;
  /** Changes may have been missed, or are too many to be told: the records have to be read again. */
  reset(): void;
}
