/**
 * Room for some 1,400 spaces of four fields. A request for any other space reads the catalogue, which takes ten times as long.
 * Bytes.
 */
const fewestBytes = 32 * 1024 ** 2;

/** How RECORD_CACHE_BYTES is divided where rows are held in memory; elsewhere results get the share of rows as well. Bytes. */
export function cacheShares(bytes: number): {
  readonly rows: number;
  readonly results: number;
  /** For spaces, and for structures that requests bring. */
  readonly descriptions: number;
} {
  return { rows: (bytes * 3) / 4, results: bytes / 8, descriptions: Math.max(bytes / 8, fewestBytes) };
}
