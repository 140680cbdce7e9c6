import { ownBytes } from './store/kept-results.ts';
import type { Target } from './structure/field.ts';
import type { RecordParts } from './structure/record-parts.ts';

/** It separates what is not shown. JSON has no bare tab: it escapes those of texts. */
const tab = 9;

/** A list whose records have had their hidden values taken out, and those of the last one: a JSON array of them. */
interface Shown {
  readonly list: Uint8Array;
  readonly last: string | null;
}

/** The same parts, and behind each record, between tabs, an array of values that are read and not shown. */
export function withHidden({ parts, end }: RecordParts, targets: readonly Target[]): RecordParts {
  const hidden = targets.map((target, index) => ({
    ...{ target, path: [] },
    before: index === 0 ? `${end}\t[` : ',',
  }));
  return { parts: [...parts, ...hidden], end: ']\t' };
}

/** Takes hidden values out of a list. */
export function withoutHidden(list: Uint8Array): Shown {
  const bytes = Buffer.from(list.buffer, list.byteOffset, list.byteLength);
  const pieces: Buffer[] = [];
  let last: string | null = null;
  let from = 0;
  for (let at = bytes.indexOf(tab); at >= 0; at = bytes.indexOf(tab, from)) {
    const end = bytes.indexOf(tab, at + 1);
    pieces.push(bytes.subarray(from, at));
    last = bytes.toString('utf8', at + 1, end);
    from = end + 1;
  }
  pieces.push(bytes.subarray(from));
  // kept as it is, so that the values of its last record stay known
  return { list: ownBytes(Buffer.concat(pieces)), last };
}

/** The same of a stream, whose last record nobody waits for. */
export async function* streamWithoutHidden(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let isHidden = false;
  for await (const chunk of chunks) {
    const pieces: Uint8Array[] = [];
    let from = 0;
    for (let at = chunk.indexOf(tab); at >= 0; at = chunk.indexOf(tab, from)) {
      if (!isHidden) pieces.push(chunk.subarray(from, at));
      isHidden = !isHidden;
      from = at + 1;
    }
    if (!isHidden) pieces.push(chunk.subarray(from));
    yield Buffer.concat(pieces);
  }
}
