/**
 * 32 bits that follow from whole numbers up to 2^53 - 1, evenly spread, mixed as MurmurHash3 does. The
 * same numbers give the same bits on every machine, so a load can be repeated.
 */
export function hashOf(first: number, second = 0, third = 0): number {
  let hash = mix(mix(0x9747b28c, first >>> 0), Math.floor(first / 0x1_0000_0000));
  hash = mix(mix(hash, second >>> 0), Math.floor(second / 0x1_0000_0000));
  hash = mix(mix(hash, third >>> 0), Math.floor(third / 0x1_0000_0000));
  hash ^= hash >>> 16;
  hash = Math.imul(hash, 0x85ebca6b);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** The same for a name. */
export function hashOfText(seed: number, text: string): number {
  let hash = hashOf(seed);
  for (let at = 0; at < text.length; at++) hash = mix(hash, text.charCodeAt(at));
  return hashOf(hash >>> 0, text.length);
}

function mix(hash: number, word: number): number {
  const part = Math.imul(word, 0xcc9e2d51);
  const mixed = hash ^ Math.imul((part << 15) | (part >>> 17), 0x1b873593);
  return (Math.imul((mixed << 13) | (mixed >>> 19), 5) + 0xe6546b64) | 0;
}
