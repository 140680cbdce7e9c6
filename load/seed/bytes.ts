import { createCipheriv, createHash } from 'node:crypto';
import { hashOf } from './hash.ts';

/** Bytes of a step, the unit in which bytes are made. */
export const stepBytes = 64 * 1024;
/** A power of two. With a window of 32 KiB, as gzip has, no compression finds bytes that came before. */
const streamBytes = 8 * 1024 * 1024;
/** Seeds that are used at once; a run has one. */
const mostStreams = 4;

const streams = new Map<number, Buffer>();

/**
 * The bytes of a file from an offset on, at most to the end of its step, as a view of bytes that all files share: it must not
 * be changed. Every step begins somewhere else in one random stream, at a place that follows from the file's index and the
 * number of the step. So making bytes costs no more than a hash, and a part that was lost, swapped, shifted or taken from
 * another file is not the same.
 */
export function sliceOf(seed: number, index: number, offset: number, length: number): Buffer {
  const step = Math.floor(offset / stepBytes);
  const within = offset - step * stepBytes;
  const begin = (hashOf(index, step) & (streamBytes - 1)) + within;
  return streamOf(seed).subarray(begin, begin + Math.min(length, stepBytes - within));
}

/** The bytes of a file between two offsets, step by step. */
export function* slicesOf(seed: number, index: number, from: number, to: number): Generator<Buffer> {
  for (let at = from; at < to; ) {
    const slice = sliceOf(seed, index, at, to - at);
    yield slice;
    at += slice.byteLength;
  }
}

/** Compares the bytes of a file with those of the seed, as they come. */
export class ByteCheck {
  readonly #seed: number;
  readonly #index: number;
  /** Bytes so far. */
  received: number;
  /** Offset of the first byte that differs, and both bytes. */
  wrong: { readonly offset: number; readonly is: number; readonly expected: number } | null = null;

  /** @param from the offset of the first byte that will come */
  constructor(seed: number, index: number, from = 0) {
    this.#seed = seed;
    this.#index = index;
    this.received = from;
  }

  add(bytes: Buffer): void {
    for (let at = 0; at < bytes.byteLength; ) {
      const expected = sliceOf(this.#seed, this.#index, this.received, bytes.byteLength - at);
      const end = at + expected.byteLength;
      if (this.wrong === null && expected.compare(bytes, at, end) !== 0) this.#find(expected, bytes, at);
      this.received += expected.byteLength;
      at = end;
    }
  }

  #find(expected: Buffer, bytes: Buffer, from: number): void {
    const offset = expected.findIndex((byte, at) => byte !== bytes[from + at]);
    this.wrong = {
      offset: this.received + offset,
      is: bytes[from + offset] as number,
      expected: expected[offset] as number,
    };
  }
}

/** AES in counter mode, so that the bytes are the same everywhere and can't be compressed. */
function streamOf(seed: number): Buffer {
  const made = streams.get(seed);
  if (made !== undefined) return made;
  const key = createHash('sha256').update(`${seed}`).digest().subarray(0, 16);
  const stream = createCipheriv('aes-128-ctr', key, Buffer.alloc(16)).update(
    Buffer.alloc(streamBytes + stepBytes),
  );
  if (streams.size === mostStreams) streams.delete(streams.keys().next().value as number);
  streams.set(seed, stream);
  return stream;
}
