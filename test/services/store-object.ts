import { crc32 } from 'node:zlib';
import type { ObjectDescription } from '#objects/object-description.ts';
import type { ObjectStore, ObjectWriter, Part } from '#objects/object-store.ts';

/** The bytes as a part, in chunks as an upload gathers them. The chunks share the memory of the bytes. */
export function partOf(bytes: Uint8Array, chunkBytes = 64 * 1024): Part {
  const chunks: Uint8Array[] = [];
  for (let at = 0; at < bytes.byteLength; at += chunkBytes) chunks.push(bytes.subarray(at, at + chunkBytes));
  return { chunks, size: bytes.byteLength, crc32: crc32(bytes) };
}

export const emptyPart: Part = partOf(new Uint8Array(0));

/** Writes the bytes as the store wants them: parts of its size, as many at once as it takes. */
export async function writeObject(
  store: Pick<ObjectStore, 'partBytes' | 'concurrentParts'>,
  writer: ObjectWriter,
  bytes: Uint8Array,
): Promise<void> {
  const underWay = new Set<Promise<void>>();
  let at = 0;
  for (let index = 0; ; index++) {
    const end = at + store.partBytes(index, bytes.byteLength);
    if (end >= bytes.byteLength) break;
    if (underWay.size >= store.concurrentParts) await Promise.race(underWay);
    const written = writer.writePart(partOf(bytes.subarray(at, end))).finally(() => underWay.delete(written));
    underWay.add(written);
    // complete, or the race above, hears of it
    written.catch(() => {});
    at = end;
  }
  await writer.complete(partOf(bytes.subarray(at)));
}

export async function storeObject(
  store: ObjectStore,
  key: string,
  bytes: Uint8Array,
  description: ObjectDescription = { contentType: 'application/octet-stream', metadata: {} },
  signal: AbortSignal = new AbortController().signal,
): Promise<void> {
  const writer = await store.create(key, description, signal);
  try {
    await writeObject(store, writer, bytes);
  } catch (error) {
    await writer.abort();
    throw error;
  }
}
