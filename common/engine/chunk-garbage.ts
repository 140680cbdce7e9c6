import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Bytes of chunks after which garbage is collected. */
const collectEvery = 4 * 1024 * 1024;

let counted = 0;
let collect: ((options: { readonly type: 'minor' }) => void) | null = null;

/**
 * Counts a chunk of the engine, and collects garbage from time to time. The bytes are outside V8's heap, and V8 would let
 * 32 MiB of them pile up. Chunks die young, and collecting young objects takes a millisecond.
 */
export function countChunk(bytes: number): void {
  counted += bytes;
  if (counted < collectEvery) return;
  counted = 0;
  collect ??= exposedCollector();
  collect({ type: 'minor' });
}

function exposedCollector(): NonNullable<typeof collect> {
  setFlagsFromString('--expose-gc');
  // only a context that is created after the flag was set has the function
  const gc = runInNewContext('gc') as NonNullable<typeof collect>;
  setFlagsFromString('--no-expose-gc');
  return gc;
}
