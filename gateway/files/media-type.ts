import { lookup } from 'mime-types';

export const unknownMediaType = 'application/octet-stream';

// RFC 6838 section 4.2: restricted names, at most 127 characters each
const restrictedName = "[A-Za-z0-9][A-Za-z0-9!#$&^_.+'%*|~`-]{0,126}";
const mediaTypePattern = new RegExp(`^(${restrictedName}/${restrictedName})[ \\t]*(?:;.*)?$`);

/** Types that the library names differently from browsers. */
const usualNames: Readonly<Record<string, string>> = { 'audio/x-flac': 'audio/flac' };

/**
 * The media type to store a file under, in lower case and without parameters: the part's own when it says something,
 * else the one its file extension suggests.
 */
export function mediaTypeOf(partContentType: string | undefined, originalName: string): string {
  const declared = mediaTypePattern.exec(partContentType?.trim() ?? '')?.[1]?.toLowerCase();
  if (declared !== undefined && declared !== unknownMediaType) return declared;
  // the library takes a name without a dot for an extension
  const extension = /\.[A-Za-z0-9]+$/.exec(originalName)?.[0] ?? '';
  const type = lookup(extension) || unknownMediaType;
  return usualNames[type] ?? type;
}

export const filterPattern = new RegExp(`^${restrictedName}/(?:${restrictedName})?$`);

/** Null for a good filter, which is a media type, or the beginning of one up to its slash; else the problem with it. */
export function mediaTypeFilterProblem(text: string): string | null {
  return filterPattern.test(text)
    ? null
    : 'should be a media type such as image/png, or image/ for all images';
}
