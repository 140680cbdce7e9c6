import { invalidMultipart } from '#kernel/errors/catalogue.ts';
import { baseName } from '#server/http/content-disposition.ts';

export const maxOriginalCharacters = 1000;
const maxCleanedBytes = 100;
const extensionPattern = /(?<=[^.])\.([A-Za-z0-9]{1,16})$/;

/**
 * Checks the client's name for `originalName` (interface.md section 2.1). It is not changed: a path stays a path.
 * Throws 400 when it is empty, longer than 1,000 characters, or has control characters other than line breaks.
 */
export function checkOriginalName(raw: string): string {
  if (raw.trim() === '') throw invalidMultipart('The file has no name');
  // browsers send line breaks, which names on Linux and macOS may have
  if (/[^\P{Cc}\r\n]/u.test(raw)) throw invalidMultipart('The file name has control characters');
  if (raw.length > maxOriginalCharacters && [...raw].length > maxOriginalCharacters) {
    throw invalidMultipart(`The file name is longer than ${maxOriginalCharacters} characters`);
  }
  return raw;
}

/** `<id>_<cleaned name>`: safe as a URL segment, a file name and an object key; at most 137 bytes. */
export function storedName(id: string, originalName: string): string {
  return `${id}_${cleanedName(originalName)}`;
}

function cleanedName(originalName: string): string {
  const base = baseName(originalName);
  const extension = extensionPattern.exec(base)?.[0] ?? '';
  const stem = base
    .slice(0, base.length - extension.length)
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[.-]+/, '')
    .slice(0, maxCleanedBytes - extension.length);
  return (stem === '' ? 'file' : stem) + extension;
}
