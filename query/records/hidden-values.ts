import { ownBytes } from './store/kept-results.ts';
import type { Target } from './structure/field.ts';
import type { RecordParts } from './structure/record-parts.ts';

/** Separates hidden values. JSON never has a bare tab, because it escapes tabs in texts. */
const tab = 9;

/** A list without its hidden values, and the hidden values of its last record as a JSON array. */
interface VisibleList {
  readonly list: Uint8Array;
  readonly last: string | null;
}

/** The same parts, and after each record, between tabs, an array of values that are read but not shown. */
export function withHidden({ parts, end }: RecordParts, targets: readonly Target[]): RecordParts {
  const hidden = targets.map((target, index) => ({
    target,
    path: [],
    before: index === 0 ? `${end}\t[` : ',',
  }));
  return { parts: [...parts, ...hidden], end: ']\t' };
}

/** Removes hidden values from a list. */
export function withoutHidden(list: Uint8Array): VisibleList {
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
  // a cache keeps this very array, by which NextPage remembers the values of the last record
  return { list: ownBytes(Buffer.concat(pieces)), last };
}

/** The same for a stream. The values of its last record are not needed. */
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
