import { contentDisposition } from '#server/http/content-disposition.ts';
import { registeredType } from '../inspect/registered-type.ts';
import { unknownMediaType } from './media-type.ts';

/**
 * Types that are shown: browsers run nothing in them, or the sandbox keeps it from running
 * (docs/decisions/084-types-of-files.md).
 */
const shown = new Set([
  'application/pdf',
  'application/vnd.apple.mpegurl',
  'audio/aac',
  'audio/3gpp',
  'audio/3gpp2',
  'audio/flac',
  'audio/matroska',
  'audio/mp4',
  'audio/mpeg',
  'audio/ogg',
  'audio/wav',
  'audio/webm',
  'image/avif',
  'image/bmp',
  'image/gif',
  'image/heic',
  'image/heif',
  'image/jpeg',
  'image/jxl',
  'image/png',
  'image/webp',
  'text/plain',
  'text/vtt',
  'video/3gpp',
  'video/3gpp2',
  'video/iso.segment',
  'video/matroska',
  'video/mp2t',
  'video/mp4',
  'video/mpeg',
  'video/ogg',
  'video/quicktime',
  'video/webm',
]);

/** A manifest is XML, in which a browser runs scripts that are not in a sandbox: the bucket sets none. */
const shownInSandbox = 'application/dash+xml';

/** Whether files of a type are shown in a browser, under that type. */
export function isShown(type: string): boolean {
  const registered = registeredType(type);
  return shown.has(registered) || registered === shownInSandbox;
}

/** Types that are safe in a Content-Type when the file is saved; no scripts, style sheets, markup or fonts. */
const downloads = new Set([
  'application/gzip',
  'application/json',
  'application/msword',
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
  const [type, usual] = servedAs(contentType);
  const disposition = type === shownInSandbox ? 'attachment' : usual;
  // servers disagree on whether two spaces are signed as one
  const full = contentDisposition(disposition, originalName.replace(/ {2,}/g, ' '));
  const short = full.length <= maxDispositionBytes ? full : contentDisposition(disposition, name);
  return { contentType: type, contentDisposition: short };
}

function servedAs(contentType: string): [type: string, disposition: 'inline' | 'attachment'] {
  const type = registeredType(contentType);
  if (type === 'text/plain') return ['text/plain; charset=utf-8', 'inline'];
  // RFC 8216 and the WebVTT standard: both are UTF-8, always
  if (shown.has(type) || type === shownInSandbox) return [type, 'inline'];
  if (downloads.has(type)) return [type, 'attachment'];
  return [unknownMediaType, 'attachment'];
}
