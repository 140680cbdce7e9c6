/** What a store keeps of an object besides its bytes. */
export interface ObjectDescription {
  /** Media type to store the object under. */
  readonly contentType: string;
  /** Small text values stored with the object: enough to restore its CloudFile row. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Headers for readers who get the object from the store directly. Absent: `contentType`, and no disposition. */
  readonly served?: { readonly contentType: string; readonly contentDisposition: string };
  /** An object with this key may exist; a failed write leaves the old object or the new one. */
  readonly replaces?: true;
}
