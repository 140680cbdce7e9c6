/**
 * Where files live. Implementations: the file system store (embedded default) and S3.
 * Every implementation passes test/integration/object-store-contract.ts.
 *
 * Keys are `/`-separated, relative, and made by us: `<owner>/<project_slug>/<name>`.
 */
export interface ObjectInfo {
  readonly key: string;
  /** Bytes. */
  readonly size: number;
  readonly lastModified: Date;
}

export interface ObjectDescription {
  /** Media type to store the object under. */
  readonly contentType: string;
  /** Small text values kept beside the object: enough to make its CloudFile row again. */
  readonly metadata: Readonly<Record<string, string>>;
}

export interface StoredObject extends ObjectInfo, ObjectDescription {}

/**
 * One object being written. Nothing of it is visible under its key before `complete` resolves;
 * afterwards it is durable. Call `writePart` one at a time, then exactly one of `complete` and `abort`.
 */
export interface ObjectWriter {
  /** Stores the next bytes. Resolves when the caller may reuse `part`. */
  writePart(part: Uint8Array): Promise<void>;
  /** Makes the object visible and durable. When it rejects, nothing is left under the key. */
  complete(): Promise<void>;
  /** Drops what was written. Safe to call twice and after a failed `complete`; never rejects. */
  abort(): Promise<void>;
}

/** A byte range, both ends inclusive, as in RFC 9110 section 14.1.2. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

export interface ObjectStore {
  /** How many bytes the caller should gather for one `writePart`. */
  readonly partBytes: number;
  /** Begins an object. Rejects when the signal is aborted; a later abort of the signal fails the writer's calls. */
  create(key: string, description: ObjectDescription, signal: AbortSignal): Promise<ObjectWriter>;
  /** The object's description, or null when there is none under the key. */
  head(key: string, signal: AbortSignal): Promise<StoredObject | null>;
  /** The object's bytes in order, in chunks of bounded size. Rejects when there is no such object. */
  read(key: string, range: ByteRange | null, signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** Removes the object; resolves as well when there is none. */
  delete(key: string, signal: AbortSignal): Promise<void>;
  /** All objects whose key starts with the prefix, in no given order. */
  list(prefix: string, signal: AbortSignal): AsyncIterable<ObjectInfo>;
  /** Rejects when the store can't take a write now. */
  ready(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}
