import { lookup } from 'mime-types';

export const unknownMediaType = 'application/octet-stream';

// RFC 6838 section 4.2: restricted names, at most 127 characters each
const restrictedName = "[A-Za-z0-9][A-Za-z0-9!#$&^_.+'%*|~\\x60-]{0,126}";
const mediaTypePattern = new RegExp(`^(${restrictedName}/${restrictedName})[ \\t]*(?:;.*)?$`);

/** Types that the library names differently from browsers. */
const usualNames: Readonly<Record<string, string>> = { 'audio/x-flac': 'audio/flac' };

/**
 * The media type of a stored file, in lower case and without parameters: the type of the part, if it has a specific
 * one, else the type of the file extension.
 */
export function mediaTypeOf(partContentType: string | undefined, originalName: string): string {
  const declared = mediaTypePattern.exec(partContentType?.trim() ?? '')?.[1]?.toLowerCase();
  if (declared !== undefined && declared !== unknownMediaType) return declared;
  // the library treats a name without a dot as an extension
  const extension = /\.[A-Za-z0-9]+$/.exec(originalName)?.[0] ?? '';
  const type = lookup(extension) || unknownMediaType;
  return usualNames[type] ?? type;
}

export const filterPattern = new RegExp(`^${restrictedName}/(?:${restrictedName})?$`);

/** The problem with a filter; null for a media type, or the beginning of one up to its slash. */
export function mediaTypeFilterProblem(text: string): string | null {
  return filterPattern.test(text)
    ? null
    : 'should be a media type such as image/png, or image/ for all images';
}
