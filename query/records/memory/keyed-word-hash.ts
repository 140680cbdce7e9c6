/**
 * HalfSipHash-1-3 (https://github.com/veorq/SipHash) of two words and some bytes: 32 bits that nobody can make collide without
 * knowing the key.
 * @param key two words
 */
export function keyedWordHash(
  key: Uint32Array,
  first: number,
  second: number,
  bytes: Uint8Array,
  start: number,
  end: number,
): number {
  let v0 = key[0] as number;
  let v1 = key[1] as number;
  let v2 = v0 ^ 0x6c796765;
  let v3 = v1 ^ 0x74656462;
  const whole = (end - start) >> 2;
  const last = whole + 2;
  // the two words, the bytes by four, the last bytes with their number, and three rounds at the end
  for (let word = 0; word <= last + 3; word++) {
    let m = 0;
    if (word < 2) m = word === 0 ? first : second;
    else if (word < last) {
      const at = start + (word - 2) * 4;
      m =
        (bytes[at] as number) |
        ((bytes[at + 1] as number) << 8) |
        ((bytes[at + 2] as number) << 16) |
        ((bytes[at + 3] as number) << 24);
    } else if (word === last) {
      m = (end - start) << 24;
      for (let at = start + whole * 4; at < end; at++) m |= (bytes[at] as number) << (((at - start) & 3) * 8);
    } else if (word === last + 1) v2 ^= 0xff;
    v3 ^= m;
    v0 = (v0 + v1) | 0;
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
    v0 = (v0 << 16) | (v0 >>> 16);
    v2 = (v2 + v3) | 0;
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
    v2 = (v2 << 16) | (v2 >>> 16);
    v0 ^= m;
  }
  return (v1 ^ v3) >>> 0;
}
