import { notFound } from '#kernel/errors/catalogue.ts';
import type { ByteRange, ObjectStore } from '#objects/object-store.ts';

export const fileNotFound = () => notFound('There is no such file');

/**
 * The bytes of a file that has a row. Fails with 404 before the first chunk when the object is missing; only a failure
 * costs a second call to the store.
 */
export async function* objectBytes(
  store: ObjectStore,
  key: string,
  range: ByteRange | null,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  let begun = false;
  try {
    for await (const chunk of store.read(key, range, signal)) {
      begun = true;
      yield chunk;
    }
  } catch (error) {
    if (begun || signal.aborted) throw error;
    // if the store can't tell whether the object exists, its own error stays
    const found = await store.head(key, signal).catch(() => undefined);
    throw found === null ? fileNotFound() : error;
  }
}

/** Joins chunks. Throws unless their total is `size`. */
export async function wholeFile(chunks: AsyncIterable<Uint8Array>, size: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafeSlow(size);
  let filled = 0;
  for await (const chunk of chunks) {
    if (filled + chunk.byteLength > size) throw new Error('the object is longer than its row says');
    bytes.set(chunk, filled);
    filled += chunk.byteLength;
  }
  if (filled < size) throw new Error('the object is shorter than its row says');
  return bytes;
}
