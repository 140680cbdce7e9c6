import { contentDisposition } from '#server/http/content-disposition.ts';
import { unknownMediaType } from './media-type.ts';

/** Types that a browser shows without running scripts. */
const inert = new Set([
  'audio/aac',
  'audio/flac',
  'audio/mp4',
  'audio/mpeg',
  'audio/ogg',
  'audio/wav',
  'audio/webm',
  'audio/x-wav',
  'image/avif',
  'image/bmp',
  'image/gif',
  'image/jpeg',
  'image/png',
  'image/webp',
  'video/mp4',
  'video/mpeg',
  'video/ogg',
  'video/quicktime',
  'video/webm',
]);

/** Types that are safe in a Content-Type when the file is saved; no scripts, style sheets, markup or fonts. */
const downloads = new Set([
  'application/gzip',
  'application/json',
  'application/msword',
  'application/pdf',
  'application/vnd.ms-excel',
  'application/vnd.ms-powerpoint',
  'application/vnd.oasis.opendocument.presentation',
  'application/vnd.oasis.opendocument.spreadsheet',
  'application/vnd.oasis.opendocument.text',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  'application/zip',
  'text/csv',
]);

/**
 * The headers of a served file, so that no uploaded file can run scripts in our origin: only listed types are shown,
 * everything else is saved; nothing is sniffed, and a file that is shown anyway is sandboxed.
 */
export function servingHeaders(contentType: string, originalName: string): Record<string, string> {
  const [type, disposition] = servedAs(contentType);
  return {
    'content-type': type,
    'content-disposition': contentDisposition(disposition, originalName),
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; sandbox",
  };
}

/** Header values of S3 objects share 2 KB with other things (https://docs.aws.amazon.com/AmazonS3/latest/userguide/UsingMetadata.html). */
const maxDispositionBytes = 1024;

/** The same for direct reads from the store, which sends only these two headers. @param name the stored name */
export function storedHeaders(
  contentType: string,
  originalName: string,
  name: string,
): { contentType: string; contentDisposition: string } {
  const [type, disposition] = servedAs(contentType);
  // servers disagree on whether two spaces are signed as one
  const full = contentDisposition(disposition, originalName.replace(/ {2,}/g, ' '));
  const short = full.length <= maxDispositionBytes ? full : contentDisposition(disposition, name);
  return { contentType: type, contentDisposition: short };
}

function servedAs(contentType: string): [type: string, disposition: 'inline' | 'attachment'] {
  if (contentType === 'text/plain') return ['text/plain; charset=utf-8', 'inline'];
  if (inert.has(contentType)) return [contentType, 'inline'];
  if (downloads.has(contentType)) return [contentType, 'attachment'];
  return [unknownMediaType, 'attachment'];
}
