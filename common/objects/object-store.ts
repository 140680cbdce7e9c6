import type { FileHandle } from 'node:fs/promises';

/**
 * Storage of files. Implementations: the file system store (embedded default) and S3.
 * Every implementation passes test/integration/object-store-contract.ts.
 *
 * Keys are `/`-separated, relative, and made by us (common/catalogue/file-key.ts).
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
  /** The headers of the store's own answers to readers of the object. Absent: `contentType`, and no disposition. */
  readonly served?: { readonly contentType: string; readonly contentDisposition: string };
  /** There may be an object of this key, which a write that fails leaves as it was, or as it should be. */
  readonly replaces?: true;
}

export interface StoredObject extends ObjectInfo, ObjectDescription {}

/** Consecutive bytes of an object, in the chunks in which they were gathered. */
export interface Part {
  readonly chunks: readonly Uint8Array[];
  /** Bytes of all chunks. */
  readonly size: number;
  /** CRC-32 (IEEE) of the bytes; 0 for none. */
  readonly crc32: number;
}

/**
 * One object being written. Nothing of it is visible under its key before `complete` resolves; afterwards it is
 * durable. Call `writePart` for every part but the last, then exactly one of `complete` and `abort`.
 */
export interface ObjectWriter {
  /**
   * Stores a part of the size that the store asks for. Resolves when the chunks may be reused; rejects when the part
   * could not be stored, after the store's own retries. As many calls may overlap as `concurrentParts` says; parts
   * take their place in the order of the calls.
   */
  writePart(part: Part): Promise<void>;
  /**
   * Stores the last part, which may be short or empty, and makes the object visible and durable. Waits for parts
   * that are under way. When it rejects, the written bytes are being dropped: `abort` resolves when they are.
   */
  complete(last: Part): Promise<void>;
  /**
   * Drops the written bytes. Resolves when nothing is left under the key, as far as the store can be reached within a
   * time of its own. Safe to call twice and after a failed `complete`; never rejects.
   */
  abort(): Promise<void>;
}

/** The state of an object that is not whole, so that any process can continue it. Plain JSON. */
export interface WrittenBytes {
  /** Bytes from the beginning that are stored without a gap, and survive the process that wrote them. */
  readonly size: number;
  /** CRC-32 of these bytes. */
  readonly crc32: number;
  /** Their place in the store: its own affair. */
  readonly place: unknown;
}

/** A writer of an object that may be left unfinished. A `complete` that fails keeps the written bytes. */
export interface ResumableWriter extends ObjectWriter {
  /** The stored part so far. */
  written(): Promise<WrittenBytes>;
  /** Writes no more, and keeps the stored bytes: `written` still answers. Never rejects. */
  suspend(): Promise<void>;
}

/** An object that somebody began to write and has neither completed nor aborted. */
export interface OpenUpload {
  /** Empty where the store does not know it: then all that it holds is ours. */
  readonly key: string;
  /** Its name in the store. */
  readonly id: string;
  /** No later than the arrival of its last bytes: for many stores its beginning. */
  readonly since: Date;
}

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
   * How many bytes the caller should gather for a part. Grows where it must, so that the largest object that the
   * store was made for fits into as many parts as it takes. @param index of the part, from 0
   * @param maxBytes an upper bound of the object's size
   * @param small as small as the store can do with, because memory is short; the same for all parts of an object
   */
  partBytes(index: number, maxBytes: number, small?: boolean): number;
  /** Begins an object. Rejects when the signal is aborted; a later abort of the signal fails the writer's calls. */
  create(key: string, description: ObjectDescription, signal: AbortSignal): Promise<ObjectWriter>;
  /**
   * Begins an object that may be left unfinished, or continues one behind its written bytes; bytes that are
   * stored beyond that are written again, and no fewer parts: Ceph refuses a list that leaves one out. One writer of a
   * key at a time. No process takes it for a dead one's:
   * `dropWritten` ends it.
   */
  resume(
    key: string,
    description: ObjectDescription,
    written: WrittenBytes | null,
    signal: AbortSignal,
  ): Promise<ResumableWriter>;
  /** Drops the written bytes of an object that is not whole. Resolves as well when there is nothing. */
  dropWritten(key: string, written: WrittenBytes | null, signal: AbortSignal): Promise<void>;
  /** The object's description, or null when there is none under the key. */
  head(key: string, signal: AbortSignal): Promise<StoredObject | null>;
  /** The object's bytes in order, in chunks of bounded size. Rejects when there is no such object. */
  read(key: string, range: ByteRange | null, signal: AbortSignal): AsyncIterable<Uint8Array>;
  /**
   * The object as a file that is open for reading, where it is one; the caller closes it. Absent: the store has no files.
   * Rejects when there is no such object.
   */
  open?(key: string, signal: AbortSignal): Promise<FileHandle>;
  /** Removes the object; resolves as well when there is none. */
  delete(key: string, signal: AbortSignal): Promise<void>;
  /** Removes all of them, in as few requests as the store can. Answers the keys of objects that may still be there. */
  deleteAll(keys: readonly string[], signal: AbortSignal): Promise<readonly string[]>;
  /** All objects whose key starts with the prefix, in no given order. */
  list(prefix: string, signal: AbortSignal): AsyncIterable<ObjectInfo>;
  /** Uploads that were begun and neither completed nor aborted, by any process. */
  listOpenUploads(signal: AbortSignal): AsyncIterable<OpenUpload>;
  /** Arrival of its last bytes, or its beginning; null when there is no such upload any more. */
  lastWrittenAt(upload: OpenUpload, signal: AbortSignal): Promise<Date | null>;
  /** Whether the upload is to become the object of this key. */
  isUploadOf(upload: OpenUpload, key: string): boolean;
  /** Drops an upload that was begun; resolves as well when there is no such upload any more. */
  abortUpload(upload: OpenUpload, signal: AbortSignal): Promise<void>;
  /** Rejects when the store can't take a write now. */
  ready(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}
