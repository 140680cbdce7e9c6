import { activeType } from './active-type.ts';
import { isText } from './is-text.ts';
import { isComplete, readSizes, sizeReader } from './media-sizes.ts';
import { mediaTypeOfBytes } from './media-type-of-bytes.ts';
import type { MediaSizes } from './sizes.ts';

/** The first bytes of a file, in order. */
export interface FirstBytes {
  readonly chunks: readonly Uint8Array[];
  /** These are all bytes of the file. */
  readonly isWhole: boolean;
}

/** Which types are asked for besides those that could act: those that are shown, or any, which costs more. */
export type Asked = 'none' | 'shown' | 'any';

/** What the first bytes of a file tell. */
export interface Inspected {
  /** The type of HTML, XML or a program; null: they are none of these. */
  readonly active: string | null;
  /** The media type, if it was asked for; null: unknown. */
  readonly type: string | null;
  /** They are text, if any type was asked for. */
  readonly isText: boolean;
  readonly sizes: MediaSizes;
}

/** The most bytes that are looked at. */
export const inspectedBytes = 1024 * 1024;

/** Where the first bytes are joined: everything between two awaits, so that all files share it. */
let joined: Buffer | null = null;

export function inspectBytes(bytes: FirstBytes, asks: Asked): Inspected | Promise<Inspected> {
  const { chunks, isWhole } = bytes;
  const [start = new Uint8Array(0)] = chunks;
  const head = Buffer.from(start.buffer, start.byteOffset, Math.min(start.byteLength, inspectedBytes));
  const active = activeType(head);
  if (active !== null) return { active, type: active, isText: false, sizes: {} };
  const sizes = sizesOf(head, { chunks, isWhole: isWhole && start.byteLength <= inspectedBytes });
  const isAny = asks === 'any';
  const found = asks === 'none' ? null : mediaTypeOfBytes(head, isAny);
  if (found === null && !isAny) return { active, type: null, isText: false, sizes };
  return Promise.resolve(found).then((type) => ({
    active,
    type,
    isText: isAny && type === null && isText(head),
    sizes,
  }));
}

function sizesOf(head: Buffer, { chunks, isWhole }: FirstBytes): MediaSizes {
  const reader = sizeReader(head);
  if (reader === null) return {};
  const sizes = readSizes(reader, head, isWhole && chunks.length === 1);
  if (chunks.length === 1 || isComplete(sizes, reader)) return sizes;
  joined ??= Buffer.allocUnsafeSlow(inspectedBytes);
  let filled = 0;
  let isCut = false;
  for (const chunk of chunks) {
    const some = chunk.subarray(0, inspectedBytes - filled);
    joined.set(some, filled);
    filled += some.byteLength;
    isCut ||= some.byteLength < chunk.byteLength;
  }
  return readSizes(reader, joined.subarray(0, filled), isWhole && !isCut);
}
