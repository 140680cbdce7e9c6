/** The CRC-32 polynomial of IEEE 802.3, bit-reversed: bit 31 is x^0, bit 0 is x^31. */
const polynomial = 0xedb88320;
const xToThe0 = 0x80000000;
const xToThe1 = 0x40000000;

/** x^(2^k) for k from 0 to 31. That is enough: x^(2^32) is x again, because x^(2^32 - 1) is 1. */
const squarings: readonly number[] = squareRepeatedly(32);

/**
 * The CRC-32 of A followed by B, exact for every safe integer: A's remainder is multiplied by x^(8 * lengthB), then B's is
 * added, as in zlib's crc32_combine.
 * @param lengthB bytes
 */
export function combineCrc32(crcA: number, crcB: number, lengthB: number): number {
  return (multiply(crcA, xToTheBytes(lengthB)) ^ crcB) >>> 0;
}

/** x^(8 * bytes). Lengths can exceed 32 bits, so bit operators can't be used on them. */
function xToTheBytes(bytes: number): number {
  let product = xToThe0;
  // 8 * bytes: bit 0 of the length counts x^(2^3)
  for (let rest = bytes, k = 3; rest > 0; rest = Math.floor(rest / 2), k++) {
    if (rest % 2 === 1) product = multiply(product, squarings[k % 32] as number);
  }
  return product;
}

/** a * b modulo the polynomial. */
function multiply(a: number, b: number): number {
  let product = 0;
  let shifted = b;
  for (let bit = xToThe0; bit !== 0; bit >>>= 1) {
    if ((a & bit) !== 0) product ^= shifted;
    // times x
    shifted = (shifted & 1) === 0 ? shifted >>> 1 : (shifted >>> 1) ^ polynomial;
  }
  return product >>> 0;
}

function squareRepeatedly(count: number): number[] {
  const powers = [xToThe1];
  for (let last = xToThe1; powers.length < count; powers.push(last)) last = multiply(last, last);
  return powers;
}
