import type { CloudFile } from '../catalogue/cloud-file.ts';

type FileLinks = 'public' | 'private';

/** What the caching of an answer depends on, besides its file. */
interface CachedFor {
  /** Its link ends then; null: it has none. */
  readonly linkEnds: number | null;
  /** Rules bind it. */
  readonly bound: unknown;
  /** It makes backups, which need the owner. */
  readonly backup: boolean;
  /** Of an address whose file may be replaced: its Cache-Control. */
  readonly caching?: string;
  /** null: the file itself. */
  readonly picture: unknown;
}

/** A year. Seconds. */
const longestCaching = 31_536_000;
// a file never changes
const publicCaching = `public, max-age=${longestCaching}, immutable`;
// the definition of a preset may change
const pictureCaching = 86_400;
export const privateCaching = 'private, no-cache';
const unscannedHeaders = { 'cache-control': 'private, no-store' };

/** The Cache-Control that all readers of a file may have. */
export function cachingOf(fileLinks: FileLinks, { picture }: Pick<CachedFor, 'picture'>): string {
  if (fileLinks === 'private') return privateCaching;
  return picture === null ? publicCaching : cachingFor(pictureCaching, false);
}

/** Further headers of its answers; undefined: none. */
export function headersFor(
  { linkEnds, bound, backup, picture, caching }: CachedFor,
  { owner, expiresAt, state }: CloudFile,
  fileLinks: FileLinks,
): Readonly<Record<string, string>> | undefined {
  if (state !== undefined) return unscannedHeaders;
  if (linkEnds !== null || bound !== undefined) return { 'cache-control': privateCaching };
  const owned = backup && owner !== undefined ? { 'sluice-file-owner': owner } : undefined;
  if (caching !== undefined) return { ...owned, 'cache-control': caching };
  if (expiresAt === undefined || fileLinks === 'private') return owned;
  // no copy outlives the file
  const seconds = Math.max(0, Math.floor((expiresAt.getTime() - Date.now()) / 1000));
  const longest = picture === null ? longestCaching : pictureCaching;
  return { ...owned, 'cache-control': cachingFor(Math.min(seconds, longest), picture === null) };
}

function cachingFor(seconds: number, isImmutable = true): string {
  return `public, max-age=${seconds}${isImmutable ? ', immutable' : ''}`;
}
