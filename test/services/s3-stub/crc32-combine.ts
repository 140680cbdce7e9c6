/** CRC-32 of IEEE 802.3 with the bits reversed: bit 31 is x^0. */
const polynomial = 0xedb88320;
const one = 0x80000000;
const xToThe8 = 0x00800000;

/**
 * The CRC-32 of A followed by B, from the CRC-32 of each and B's length in bytes: a CRC is a remainder, so A's is
 * moved past B by multiplying with x^(8 * length) modulo the polynomial, and B's is added.
 */
export function crc32Combine(ofA: number, ofB: number, lengthOfB: number): number {
  return (multiply(power(lengthOfB), ofA) ^ ofB) >>> 0;
}

/** The four bytes, high one first, in base64: the form of x-amz-checksum-crc32. */
export function crc32ToBase64(crc: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc);
  return bytes.toString('base64');
}

/** Null when the text is no CRC-32 in base64. */
export function crc32FromBase64(text: string): number | null {
  if (!/^[A-Za-z0-9+/]{6}==$/.test(text)) return null;
  const crc = Buffer.from(text, 'base64').readUInt32BE();
  return crc32ToBase64(crc) === text ? crc : null;
}

/** x^(8 * bytes), by squaring. Lengths pass 32 bits, so no bit operations on them. */
function power(bytes: number): number {
  let result = one;
  for (let factor = xToThe8, left = bytes; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) result = multiply(result, factor);
    factor = multiply(factor, factor);
  }
  return result;
}

function multiply(a: number, b: number): number {
  let product = 0;
  let shifted = b;
  for (let bit = one; bit !== 0; bit >>>= 1) {
    if ((a & bit) !== 0) product ^= shifted;
    shifted = (shifted & 1) === 0 ? shifted >>> 1 : (shifted >>> 1) ^ polynomial;
  }
  return product >>> 0;
}
