import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** Stored bytes: of an object, or of one part until its upload ends. */
export interface Blob {
  readonly size: number;
  /** The bytes from `start` up to and without `end`. */
  chunks(start: number, end: number): AsyncIterable<Buffer> | Iterable<Buffer>;
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

export type OpenBlob = () => BlobWriter;

export function memoryBlob(): BlobWriter {
  const kept: Buffer[] = [];
  return {
    write: (chunk) => void kept.push(chunk),
    async finish() {
      const content = Buffer.concat(kept);
      return {
        size: content.length,
        chunks: (start, end) => [content.subarray(start, end)],
        bytes: () => content,
        async drop() {},
      };
    },
    async discard() {},
  };
}

/** Counts only, for tests that send more than they look into. */
export function discardBlob(): BlobWriter {
  let size = 0;
  return {
    write(chunk) {
      size += chunk.length;
      return undefined;
    },
    async finish() {
      const chunks = (): never => {
        throw new Error('this store keeps no bytes');
      };
      return { size, chunks, bytes: () => null, async drop() {} };
    },
    async discard() {},
  };
}

/** A file a part, in a folder that must exist: for objects larger than memory. */
export function folderBlobs(folder: string): OpenBlob {
  return () => {
    const path = join(folder, randomUUID());
    let file: FileHandle | undefined;
    let size = 0;
    let last: Promise<void> = Promise.resolve();
    const append = async (chunk: Buffer): Promise<void> => {
      file ??= await open(path, 'wx');
      await file.writeFile(chunk);
      size += chunk.length;
    };
    const close = async (): Promise<void> => {
      await file?.close();
      file = undefined;
    };
    const drop = (): Promise<void> => rm(path, { force: true });
    return {
      write(chunk) {
        last = last.then(() => append(chunk));
        return last;
      },
      async finish() {
        await last;
        await append(Buffer.alloc(0));
        await close();
        return {
          size,
          chunks: (start, end) => createReadStream(path, { start, end: end - 1 }),
          bytes: () => null,
          drop,
        };
      },
      async discard() {
        await last.catch(() => {});
        await close();
        await drop();
      },
    };
  };
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
