export const unknownMediaType = 'application/octet-stream';

// RFC 6838 section 4.2: restricted names, at most 127 characters each
const restrictedName = "[A-Za-z0-9][A-Za-z0-9!#$&^_.+'%*|~`-]{0,126}";
const mediaTypePattern = new RegExp(`^(${restrictedName}/${restrictedName})[ \\t]*(?:;.*)?$`);

const byExtension: Readonly<Record<string, string>> = {
  avif: 'image/avif',
  bmp: 'image/bmp',
  css: 'text/css',
  csv: 'text/csv',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  flac: 'audio/flac',
  gif: 'image/gif',
  gz: 'application/gzip',
  htm: 'text/html',
  html: 'text/html',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  js: 'text/javascript',
  json: 'application/json',
  m4a: 'audio/mp4',
  md: 'text/markdown',
  mov: 'video/quicktime',
  mp3: 'audio/mpeg',
  mp4: 'video/mp4',
  oga: 'audio/ogg',
  ogg: 'audio/ogg',
  ogv: 'video/ogg',
  opus: 'audio/ogg',
  pdf: 'application/pdf',
  png: 'image/png',
  pptx: 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  svg: 'image/svg+xml',
  txt: 'text/plain',
  wav: 'audio/wav',
  webm: 'video/webm',
  webp: 'image/webp',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  xml: 'application/xml',
  zip: 'application/zip',
};

/**
 * The media type to store a file under, in lower case and without parameters: the part's own when it says something,
 * else the one its file extension suggests.
 */
export function mediaTypeOf(partContentType: string | undefined, originalName: string): string {
  const declared = mediaTypePattern.exec(partContentType?.trim() ?? '')?.[1]?.toLowerCase();
  if (declared !== undefined && declared !== unknownMediaType) return declared;
  const extension = /\.([A-Za-z0-9]+)$/.exec(originalName)?.[1]?.toLowerCase() ?? '';
  return Object.hasOwn(byExtension, extension) ? (byExtension[extension] as string) : unknownMediaType;
}

const filterPattern = new RegExp(`^${restrictedName}/(?:${restrictedName})?$`);

/** What is wrong with a text as a filter: a media type, or the beginning of one up to its slash. */
export function mediaTypeFilterProblem(text: string): string | null {
  return filterPattern.test(text)
    ? null
    : 'should be a media type such as image/png, or image/ for all images';
}
