const open = Buffer.from('[');
const close = Buffer.from(']');

/** Makes a JSON array of elements that each begin with a comma: `[` of the first one, and `]` behind the last. */
export async function* asJsonArray(lines: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let begun = false;
  for await (const chunk of lines) {
    if (chunk.byteLength === 0) continue;
    yield begun ? chunk : Buffer.concat([open, chunk.subarray(1)]);
    begun = true;
  }
  yield begun ? close : Buffer.concat([open, close]);
}
