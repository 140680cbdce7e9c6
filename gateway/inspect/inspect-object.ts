import type { ObjectStore } from '#objects/object-store.ts';
import { type Asked, type Inspected, inspectBytes, inspectedBytes } from './inspect-bytes.ts';
import { isComplete, sizeReader } from './media-sizes.ts';

/** Read first: it tells the type, and the size of most pictures. Bytes. */
const firstBytes = 64 * 1024;

/** What the first bytes of a stored object tell: one small read, and another one for films whose header is long. */
export async function inspectObject(
  store: Pick<ObjectStore, 'read'>,
  { key, size }: { readonly key: string; readonly size: number },
  asks: Asked,
  signal: AbortSignal,
): Promise<Inspected> {
  const read = async (most: number): Promise<Buffer> => {
    if (size === 0) return Buffer.alloc(0);
    const chunks: Uint8Array[] = [];
    // their memory may be reused
    for await (const chunk of store.read(key, { start: 0, end: Math.min(size, most) - 1 }, signal))
      chunks.push(Uint8Array.from(chunk));
    return Buffer.concat(chunks);
  };
  const some = await read(firstBytes);
  const found = await inspectBytes({ chunks: [some], isWhole: some.byteLength === size }, asks);
  const reader = found.active === null ? sizeReader(some) : null;
  if (some.byteLength >= size || reader === null || isComplete(found.sizes, reader)) return found;
  const more = await read(inspectedBytes);
  return inspectBytes({ chunks: [more], isWhole: more.byteLength === size }, asks);
}
