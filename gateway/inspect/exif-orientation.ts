/** Tag of the orientation (Exif 3.0, section 4.6.5.1.6), and its type SHORT. */
const orientationTag = 0x0112;
const short = 3;
/** Most entries of a directory that are read. */
const mostEntries = 200;

/**
 * Whether the orientation of Exif turns the picture by a quarter. Null: the Exif is cut off or is none, so that nobody can
 * tell. @param exif a TIFF header and what follows
 */
export function isTurnedByExif(exif: Buffer): boolean | null {
  const order = exif.toString('latin1', 0, 4);
  if (order !== 'II*\0' && order !== 'MM\0*') return null;
  const isLittle = order.startsWith('II');
  const u16 = (at: number): number => (isLittle ? exif.readUInt16LE(at) : exif.readUInt16BE(at));
  const u32 = (at: number): number => (isLittle ? exif.readUInt32LE(at) : exif.readUInt32BE(at));
  try {
    const directory = u32(4);
    const entries = Math.min(u16(directory), mostEntries);
    for (let entry = 0; entry < entries; entry += 1) {
      const at = directory + 2 + 12 * entry;
      if (u16(at) !== orientationTag) continue;
      if (u16(at + 2) !== short) return null;
      return u16(at + 8) >= 5 && u16(at + 8) <= 8;
    }
    return false;
  } catch {
    return null;
  }
}
