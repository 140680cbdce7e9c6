/** A stored record without its hashes, as `rowColumns` select it. */
export interface StoredRow {
  readonly _id: string;
  /** ISO 8601. */
  readonly _created_at: string;
  readonly _updated_at: string;
  /** Values by slot, as text. */
  readonly _doc: Readonly<Record<string, string>>;
}
