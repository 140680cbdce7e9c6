/** The reversed polynomial of CRC-32C (Castagnoli), as in RFC 3720 section 12.1. */
const polynomial = 0x82f63b78;
const slices = 8;

/** Tables of slicing by eight: the k-th is for bytes that k more bytes follow. */
const tables: readonly Uint32Array[] = makeTables();

function makeTables(): Uint32Array[] {
  const made = Array.from({ length: slices }, () => new Uint32Array(256));
  const [first] = made as [Uint32Array, ...Uint32Array[]];
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ polynomial : crc >>> 1;
    first[byte] = crc >>> 0;
  }
  for (let byte = 0; byte < 256; byte++)
    for (let slice = 1; slice < slices; slice++) {
      const before = (made[slice - 1] as Uint32Array)[byte] as number;
      (made[slice] as Uint32Array)[byte] = ((before >>> 8) ^ (first[before & 0xff] as number)) >>> 0;
    }
  return made;
}

/** CRC-32C of the bytes, after those of an earlier value. */
export function crc32c(bytes: Uint8Array, before = 0): number {
  const [t0, t1, t2, t3, t4, t5, t6, t7] = tables as [
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
  ];
  const table = (of: Uint32Array, byte: number): number => of[byte & 0xff] as number;
  const at = (index: number): number => bytes[index] as number;
  let crc = ~before;
  let i = 0;
  for (const end = bytes.byteLength - (slices - 1); i < end; i += slices) {
    const low = crc ^ (at(i) | (at(i + 1) << 8) | (at(i + 2) << 16) | (at(i + 3) << 24));
    crc =
      table(t7, low) ^
      table(t6, low >>> 8) ^
      table(t5, low >>> 16) ^
      table(t4, low >>> 24) ^
      table(t3, at(i + 4)) ^
      table(t2, at(i + 5)) ^
      table(t1, at(i + 6)) ^
      table(t0, at(i + 7));
  }
  for (; i < bytes.byteLength; i++) crc = (crc >>> 8) ^ table(t0, crc ^ at(i));
  return ~crc >>> 0;
}
