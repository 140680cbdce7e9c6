/** Stored bytes: of an object, or of one part until its upload ends. */
export interface Blob {
  readonly size: number;
  /** The bytes from `start` up to and without `end`. */
  chunks(start: number, end: number): AsyncIterable<Buffer>;
  /** All bytes when they are in memory, else null. */
  bytes(): Buffer | null;
  drop(): Promise<void>;
}

export interface BlobWriter {
  /** Keeps the order of the calls; returns a promise when the caller should wait with the next. */
  write(chunk: Buffer): Promise<void> | undefined;
  finish(): Promise<Blob>;
  /** Leaves nothing behind; also after a failed `finish`. */
  discard(): Promise<void>;
}

export interface BlobStorage {
  open(): BlobWriter;
}

/** The parts of a multipart upload as one object, without copying them. */
export function joinBlobs(blobs: readonly Blob[]): Blob {
  return {
    size: blobs.reduce((sum, blob) => sum + blob.size, 0),
    async *chunks(start, end) {
      let offset = 0;
      for (const blob of blobs) {
        const from = Math.max(start - offset, 0);
        const to = Math.min(end - offset, blob.size);
        if (from < to) yield* blob.chunks(from, to);
        offset += blob.size;
      }
    },
    bytes() {
      const all = blobs.map((blob) => blob.bytes());
      return all.some((bytes) => bytes === null) ? null : Buffer.concat(all as Buffer[]);
    },
    async drop() {
      await Promise.all(blobs.map((blob) => blob.drop()));
    },
  };
}
