/** All bytes of a list, or a stream of them. */
export type List = Uint8Array | AsyncIterable<Uint8Array>;

/** All bytes of the list, or a stream if it has more than `limit`. */
export async function atHand(list: List, limit: number): Promise<List> {
  return list instanceof Uint8Array ? list : beginning(list, limit);
}

/** Reads a stream up to the limit. Returns all of its bytes, or if there are more, a stream that begins with those read. */
async function beginning(
  stream: AsyncIterable<Uint8Array>,
  limit: number,
): Promise<Uint8Array | AsyncIterable<Uint8Array>> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const iterator = stream[Symbol.asyncIterator]();
  for (;;) {
    const next = await iterator.next();
    if (next.done === true) return Buffer.concat(chunks);
    chunks.push(next.value);
    size += next.value.byteLength;
    if (size > limit) return continued(chunks, iterator);
  }
}

async function* continued(
  chunks: readonly Uint8Array[],
  iterator: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    yield* chunks;
    for (;;) {
      const next = await iterator.next();
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    await iterator.return?.();
  }
}
