/**
 * Numbers from 0 up to 1, the same ones for the same seed. A Weyl sequence (steps by 2^32 over the golden ratio)
 * whose 32 bits are then mixed with the finaliser of MurmurHash3.
 */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let bits = state;
    bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
    bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
    return ((bits ^ (bits >>> 16)) >>> 0) / 2 ** 32;
  };
}
