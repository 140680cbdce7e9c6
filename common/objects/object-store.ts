import type { FileHandle } from 'node:fs/promises';
import type { DirectStore } from './direct-store.ts';
import type { ObjectDescription } from './object-description.ts';

/**
 * Storage of files. Implementations: the file system store (embedded default) and S3.
 * Every implementation passes test/integration/object-store-contract.ts.
 *
 * Keys are `/`-separated, relative, and made by us (common/objects/file-key.ts).
 */
export interface ObjectInfo {
  readonly key: string;
  /** Bytes. */
  readonly size: number;
  readonly lastModified: Date;
}

export interface StoredObject extends ObjectInfo, ObjectDescription {
  /** The entity tag that readers get from the store directly, with its quotes. Absent: there are none. */
  readonly etag?: string | undefined;
}

/** Consecutive bytes of an object, as chunks. */
export interface Part {
  readonly chunks: readonly Uint8Array[];
  /** Bytes of all chunks. */
  readonly size: number;
  /** CRC-32 (IEEE) of the bytes; 0 for none. */
  readonly crc32: number;
}

/**
 * Writes one object. Nothing is visible under its key before `complete` resolves; afterwards it is durable. Call `writePart` for every part but the last, then exactly one of `complete` and `abort`.
 */
export interface ObjectWriter {
  /**
   * Stores a part of the size that `partBytes` says. Resolves when the chunks may be reused; rejects when the part could
   * not be stored, after the store's own retries. Up to `concurrentParts` calls may overlap; the order of the calls is the
   * order of the parts.
   */
  writePart(part: Part): Promise<void>;
  /**
   * Stores the last part, which may be short or empty, and makes the object visible and durable. Waits for running parts.
   * When it rejects, the written bytes are being dropped: `abort` resolves when that is done.
   */
  complete(last: Part): Promise<void>;
  /**
   * Drops the written bytes. Resolves when nothing is left under the key, or when the store could not be reached within
   * its own deadline. May be called twice and after a failed `complete`; never rejects.
   */
  abort(): Promise<void>;
}

/** The state of an incomplete object, with which any process can continue it. Plain JSON. */
export interface WrittenBytes {
  /** Bytes from the beginning that are stored without gaps, and survive the process that wrote them. */
  readonly size: number;
  /** CRC-32 of these bytes. */
  readonly crc32: number;
  /** Where the store has them; opaque to callers. */
  readonly place: unknown;
}

/** Writes an object that can be resumed later. A failed `complete` keeps the written bytes. */
export interface ResumableWriter extends ObjectWriter {
  /** The stored part so far. */
  written(): Promise<WrittenBytes>;
  /** Stops writing, and keeps the stored bytes: `written` still works. Never rejects. */
  suspend(): Promise<void>;
}

/** An upload that was neither completed nor aborted. */
export interface OpenUpload {
  /** Empty if the store does not know it: then everything in the store is ours. */
  readonly key: string;
  /** Its name in the store. */
  readonly id: string;
  /** Not later than the arrival of its last bytes: many stores only know when it began. */
  readonly since: Date;
}

/** Most keys that `deleteAll` removes by one request: the limit of S3's DeleteObjects. */
export const keysAtOnce = 1000;

/** A byte range, both ends inclusive, as in RFC 9110 section 14.1.2. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

export interface ObjectStore {
  /** How many `writePart` calls of one writer may overlap. At least 1. */
  readonly concurrentParts: number;
  /** Whether any part may be shorter than `partBytes` says, not only the last one. */
  readonly shortParts: boolean;
  /**
   * How many bytes the caller should gather for a part. Grows if necessary, so that the largest object of the store fits
   * into its number of parts. @param index of the part, from 0
   * @param maxBytes an upper bound of the object's size
   * @param small the least that the store accepts, because memory is short; the same for all parts of an object
   */
  partBytes(index: number, maxBytes: number, small?: boolean): number;
  /** Begins an object. Rejects when the signal is aborted; a later abort of the signal fails the writer's calls. */
  create(key: string, description: ObjectDescription, signal: AbortSignal): Promise<ObjectWriter>;
  /**
   * Begins a resumable object, or continues after its written bytes. Bytes stored beyond those are written again, in at
   * least as many parts: Ceph refuses a list that omits one. Only one writer per key at a time. The janitor does not
   * remove such an object: `dropWritten` does.
   */
  resume(
    key: string,
    description: ObjectDescription,
    written: WrittenBytes | null,
    signal: AbortSignal,
  ): Promise<ResumableWriter>;
  /** Drops the written bytes of an incomplete object. Also resolves if there is nothing. */
  dropWritten(key: string, written: WrittenBytes | null, signal: AbortSignal): Promise<void>;
  /** The object's description; null: there is no object. */
  head(key: string, signal: AbortSignal): Promise<StoredObject | null>;
  /** The object's bytes in order, in chunks of bounded size. Rejects when there is no such object. */
  read(key: string, range: ByteRange | null, signal: AbortSignal): AsyncIterable<Uint8Array>;
  /**
   * The object as an open file; the caller closes it. Absent: the store has no files.
   * Rejects when there is no such object.
   */
  open?(key: string, signal: AbortSignal): Promise<FileHandle>;
  /** Where the object is as a file, for programs of this machine that only read. Absent: the store has no files. */
  pathOf?(key: string): string;
  /** A small object as a whole; null: there is none. Rejects when it is larger. @param maxBytes its limit */
  readWhole(key: string, maxBytes: number, signal: AbortSignal): Promise<Buffer | null>;
  /** Requests that others send to the store by themselves. Absent: only this process reaches the store. */
  readonly direct?: DirectStore;
  /** Removes the object. Also resolves if there is none. */
  delete(key: string, signal: AbortSignal): Promise<void>;
  /** Removes objects in as few requests as possible. Returns the keys of objects that may still exist. */
  deleteAll(keys: readonly string[], signal: AbortSignal): Promise<readonly string[]>;
  /** Removes what is left of an object that is not there. Absent: the store leaves nothing. */
  deleteRemains?(key: string, signal: AbortSignal): Promise<void>;
  /**
   * All objects whose key starts with the prefix, in any order, and those of which an interrupted write or removal left
   * something: `head` does not find these.
   */
  list(prefix: string, signal: AbortSignal): AsyncIterable<ObjectInfo>;
  /** Open uploads of any process. */
  listOpenUploads(signal: AbortSignal): AsyncIterable<OpenUpload>;
  /** When its last bytes arrived, or when it began; null: the upload no longer exists. */
  lastWrittenAt(upload: OpenUpload, signal: AbortSignal): Promise<Date | null>;
  /** Whether the upload will become the object with this key. */
  isUploadOf(upload: OpenUpload, key: string): boolean;
  /** Drops an open upload. Also resolves if it no longer exists. */
  abortUpload(upload: OpenUpload, signal: AbortSignal): Promise<void>;
  /** Rejects if the store can't accept a write now. */
  ready(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}
