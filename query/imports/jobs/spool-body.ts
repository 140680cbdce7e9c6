import { createHash } from 'node:crypto';
import { open, rm, statfs } from 'node:fs/promises';
import { invalidBody, payloadTooLarge, storageFull } from '#kernel/errors/catalogue.ts';
import type { RequestBody } from '#server/http/http-types.ts';

export interface SpooledBody {
  readonly bytes: number;
  /** SHA-256, base64url. */
  readonly digest: string;
}

/** Room on the disk that imports leave to others: a tenth of it, and no more than this. Bytes. */
const mostLeft = 8 * 1024 ** 3;
/** Bytes between two looks at the room. */
const roomEvery = 64 * 1024 * 1024;

/** Throws a 507 where an import should take no more of a disk. @param path of a file on it */
export async function assertRoom(path: string): Promise<void> {
  const { bavail, blocks, bsize } = await statfs(path);
  if (bavail * bsize < Math.min(mostLeft, (blocks * bsize) / 10)) throw storageFull();
}

/** Where the bytes of a file come from: calls `store` with each piece, the next one when it has resolved. */
export type Source = (store: (chunk: Uint8Array) => Promise<void>) => Promise<void>;

/** Writes bytes to a file as they arrive, and answers when it is durable. A source that fails leaves no file. */
export async function spool(source: Source, path: string, limit: number): Promise<SpooledBody> {
  const file = await open(path, 'wx', 0o600);
  const hash = createHash('sha256');
  let bytes = 0;
  let looked = -roomEvery;
  const store = async (chunk: Uint8Array): Promise<void> => {
    if (bytes - looked >= roomEvery) {
      looked = bytes;
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

export function bodySource(body: RequestBody, limit: number): Source {
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

export function chunksSource(chunks: AsyncIterable<Uint8Array>): Source {
  return async (store) => {
    for await (const chunk of chunks) await store(chunk);
  };
}
