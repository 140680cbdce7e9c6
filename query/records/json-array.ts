const open = Buffer.from('[');
const close = Buffer.from(']');

/**
 * Makes a JSON array of elements that each begin with a comma: the first comma becomes `[`, and `]` follows the last
 * element.
 */
export async function* asJsonArray(lines: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let begun = false;
  for await (const chunk of lines) {
    if (chunk.byteLength === 0) continue;
    yield begun ? chunk : Buffer.concat([open, chunk.subarray(1)]);
    begun = true;
  }
  yield begun ? close : Buffer.concat([open, close]);
}

const lineBreak = 10;

/** Lines of JSON. A record has no line breaks, because JSON escapes them in texts. */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let parts: Uint8Array[] = [];
  for await (const chunk of chunks) {
    let from = 0;
    for (let at = chunk.indexOf(lineBreak); at >= 0; at = chunk.indexOf(lineBreak, from)) {
      yield Buffer.concat([...parts, chunk.subarray(from, at)]).toString('utf8');
      parts = [];
      from = at + 1;
    }
    parts.push(chunk.slice(from));
  }
  const rest = Buffer.concat(parts).toString('utf8');
  if (rest !== '') yield rest;
}
