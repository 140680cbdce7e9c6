import { createHash } from 'node:crypto';
import { open, rm, statfs } from 'node:fs/promises';
import { invalidBody, payloadTooLarge, storageFull } from '#kernel/errors/catalogue.ts';
import type { RequestBody } from '#server/http/http-types.ts';

export interface SpooledBody {
  readonly bytes: number;
  /** SHA-256, base64url. */
  readonly digest: string;
}

/** Bytes that imports leave free on a disk: a tenth of it, but at most so many. */
const mostReserved = 8 * 1024 ** 3;
/** Bytes between two checks of the free space. */
const checkEvery = 64 * 1024 * 1024;

/** Throws a 507 if an import should not take more space of a disk. @param path of a file on it */
export async function assertRoom(path: string): Promise<void> {
  const { bavail, blocks, bsize } = await statfs(path);
  if (bavail * bsize < Math.min(mostReserved, (blocks * bsize) / 10)) throw storageFull();
}

/** Produces the bytes of a file: calls `store` with each chunk, and waits until it resolves before the next one. */
export type ByteSource = (store: (chunk: Uint8Array) => Promise<void>) => Promise<void>;

/** Writes bytes to a file as they arrive. Resolves when the file is durable. Leaves no file when the source fails. */
export async function spoolBody(source: ByteSource, path: string, limit: number): Promise<SpooledBody> {
  const file = await open(path, 'wx', 0o600);
  const hash = createHash('sha256');
  let bytes = 0;
  let checkedAt = -checkEvery;
  const store = async (chunk: Uint8Array): Promise<void> => {
    if (bytes - checkedAt >= checkEvery) {
      checkedAt = bytes;
      await assertRoom(path);
    }
    bytes += chunk.byteLength;
    if (bytes > limit) throw payloadTooLarge(limit, 'The file');
    hash.update(chunk);
    for (let at = 0; at < chunk.byteLength; ) at += (await file.write(chunk, at)).bytesWritten;
  };
  try {
    await source(store);
    if (bytes === 0) throw invalidBody('The file is empty; it should have records');
    await file.sync();
    return { bytes, digest: hash.digest('base64url') };
  } catch (error) {
    await rm(path, { force: true });
    throw (error as NodeJS.ErrnoException).code === 'ENOSPC' ? storageFull(error) : error;
  } finally {
    await file.close();
  }
}

export function bodySource(body: RequestBody, limit: number): ByteSource {
  return (store) => {
    if ((body.contentLength ?? 0) > limit) throw payloadTooLarge(limit, 'Request body');
    return new Promise<void>((resolve, reject) => {
      let writing = false;
      let isOver = false;
      const settle = (): void => {
        if (isOver && !writing) resolve();
      };
      body.consume({
        write(chunk) {
          writing = true;
          store(Uint8Array.from(chunk)).then(() => {
            writing = false;
            settle();
            if (!isOver) body.resume();
          }, reject);
          return false;
        },
        end() {
          isOver = true;
          settle();
        },
        fail: reject,
      });
    });
  };
}

export function chunksSource(chunks: AsyncIterable<Uint8Array>): ByteSource {
  return async (store) => {
    for await (const chunk of chunks) await store(chunk);
  };
}
