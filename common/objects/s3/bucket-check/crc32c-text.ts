/** RFC 3720 appendix B.4, reflected. */
const polynomial = 0x82f63b78;

/** The CRC-32C of a few bytes as x-amz-checksum-crc32c has it: four bytes, big-endian, in base64. */
export function crc32cText(text: string): string {
  let crc = 0xffffffff;
  for (const byte of Buffer.from(text)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ polynomial : crc >>> 1;
  }
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE((crc ^ 0xffffffff) >>> 0);
  return bytes.toString('base64');
}
