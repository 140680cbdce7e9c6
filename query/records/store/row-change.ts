import type { StoredRow } from '../sql/stored-row.ts';

/** What a write did to a record. */
export interface RowChange {
  readonly id: string;
  /** Null: there was no record. Undefined: unknown. */
  readonly before: StoredRow | null | undefined;
  /** Null: removed. */
  readonly after: StoredRow | null;
}

/** Receives the changes of a space's records. */
export interface ChangeListener {
  /**
   * The changes of writes that a find can see by now, in their order.
   * @param changes computed lazily, as they are iterated @param count how many there are
   */
  changed(changes: Iterable<RowChange>, count: number): void;
  /** Reads changed rows and passes them on, while the listener reads none: so a listener never goes back to an older state. */
  exclusive<Result>(read: () => Promise<Result>): Promise<Result>;
  /** Changes may have been missed, or are too many to list: the records have to be read again. */
  reset(): void;
}
