import { engineFailure } from './engine-failure.ts';

/** The engine's own messages have at most 16 KiB; longer messages are truncated. */
const messageLimit = 64 * 1024;
const nothing = Buffer.alloc(0);

/**
 * The data of an answer. If the engine fails after the answer has begun, it writes its exception after the data, between
 * markers with the random `X-ClickHouse-Exception-Tag` of the answer's head. This throws it.
 * (https://clickhouse.com/docs/interfaces/http#response-buffering; servers before 25.11 send no tag, but break the
 * chunked encoding, which is an error of `chunks`.)
 *
 *     \r\n__exception__\r\n<tag>\r\n<message>\n<length of the message> <tag>\r\n__exception__\r\n
 */
export async function* withoutException(
  chunks: AsyncIterable<Buffer>,
  tag: string | undefined,
): AsyncGenerator<Buffer, void, undefined> {
  if (tag === undefined) return yield* chunks;
  const marker = Buffer.from(`\r\n__exception__\r\n${tag}`);
  let held: Buffer = nothing;
  const failure: Buffer[] = [];
  let failureSize = 0;
  try {
    for await (const chunk of chunks) {
      if (failureSize > 0) {
        if (failureSize < messageLimit) failure.push(chunk);
        failureSize += chunk.byteLength;
        continue;
      }
      const bytes = held.byteLength === 0 ? chunk : Buffer.concat([held, chunk]);
      const start = bytes.indexOf(marker);
      if (start >= 0) {
        failure.push(bytes.subarray(start + marker.byteLength));
        failureSize = bytes.byteLength - start;
        if (start > 0) yield bytes.subarray(0, start);
        continue;
      }
      const data = bytes.byteLength - heldLength(bytes, marker);
      held = bytes.subarray(data);
      if (data > 0) yield bytes.subarray(0, data);
    }
  } catch (error) {
    // the engine breaks the connection after its exception, which says more
    if (failureSize === 0) throw error;
  }
  if (failureSize > 0) throw engineFailure({ text: messageIn(Buffer.concat(failure), tag) });
  if (held.byteLength > 0) yield held;
}

/** Number of bytes at the end that may begin the marker. */
function heldLength(bytes: Buffer, marker: Buffer): number {
  for (let length = Math.min(marker.byteLength - 1, bytes.byteLength); length > 0; length--) {
    if (bytes.subarray(bytes.byteLength - length).equals(marker.subarray(0, length))) return length;
  }
  return 0;
}

function messageIn(bytes: Buffer, tag: string): string {
  const text = bytes.subarray(0, messageLimit).toString('utf8').trimStart();
  const end = text.lastIndexOf(` ${tag}\r\n`);
  // the end is missing: the connection broke before it
  return (end < 0 ? text : text.slice(0, text.lastIndexOf('\n', end))).trim();
}
