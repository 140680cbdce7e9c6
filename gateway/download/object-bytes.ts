import { notFound } from '#kernel/errors/catalogue.ts';
import type { ByteRange, ObjectStore } from '#objects/object-store.ts';

export const fileNotFound = () => notFound('There is no such file');

/**
 * The bytes of a file that has a row. When its object is missing they fail with 404 before the first chunk; only a
 * failure costs the store a second call.
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
    // a store that can't say whether the object is there keeps its own error
    const found = await store.head(key, signal).catch(() => undefined);
    throw found === null ? fileNotFound() : error;
  }
}
