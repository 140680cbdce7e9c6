/** CRC-32C (Castagnoli) bit by bit, as RFC 3720 appendix B.4 defines it: slow, and independent of ours. */
export function slowCrc32c(bytes: Uint8Array, before = 0): number {
  let crc = ~before;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 1) === 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  }
  return ~crc >>> 0;
}
