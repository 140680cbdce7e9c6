/** All bytes of a list, or its pieces as they come. */
export type List = Uint8Array | AsyncIterable<Uint8Array>;

/** The same list: all of it, unless it is a stream of more bytes. */
export async function atHand(list: List, limit: number): Promise<List> {
  return list instanceof Uint8Array ? list : beginning(list, limit);
}

/** Reads a stream as far as it may be kept. It answers all of its bytes, or where they are more, the stream again. */
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
