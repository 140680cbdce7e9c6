import { type Body, RestThenBody } from './rest-then-body.ts';
import { offsetOf, type Remainder, type UploadState } from './upload-state.ts';

/** The bytes of partial uploads from an offset, as the body of a request. */
export function bodyOfParts(
  parts: readonly UploadState[],
  offset: number,
  read: (part: Remainder, start: number) => AsyncIterable<Uint8Array>,
): RestThenBody {
  const chunks = async function* () {
    let before = offset;
    for (const { rest } of parts) {
      const { size = 0 } = rest ?? {};
      if (rest !== null && before < size) yield* read(rest, before);
      before = Math.max(0, before - size);
    }
  };
  const bytes = parts.reduce((sum, part) => sum + offsetOf(part), -offset);
  const emptyBody: Body = { contentLength: 0, consume: (sink) => sink.end(), resume() {} };
  return new RestThenBody({ bytes, chunks: chunks() }, emptyBody);
}
