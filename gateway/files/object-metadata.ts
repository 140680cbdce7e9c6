import { longestExpiry } from '#kernel/config/longest-expiry.ts';
import type { FileDraft } from './file-draft.ts';

type Described = Pick<
  FileDraft,
  'id' | 'originalName' | 'ownerId' | 'owner' | 'projectSlug' | 'folder' | 'path' | 'expiresIn'
>;

/** S3 limits all metadata to 2 KB. */
const maxNameBytes = 1024;
/** Beside a path. */
const shortNameBytes = 512;

/**
 * Metadata of an object, from which its row can be made again. Values are ASCII, because S3 sends them as headers.
 * A name that is too long loses its end.
 */
export function objectMetadata(file: Described): Record<string, string> {
  return {
    'file-id': file.id,
    'original-name': encodedStart(file.originalName, file.path === undefined ? maxNameBytes : shortNameBytes),
    'owner-id': file.ownerId,
    'project-slug': file.projectSlug,
    ...(file.owner === undefined ? {} : { owner: file.owner }),
    ...(file.folder === undefined
      ? {}
      : { folder: file.folder, path: encodeURIComponent(file.path as string) }),
    ...(file.expiresIn === undefined ? {} : { 'expires-in': `${file.expiresIn}` }),
  };
}

/** Percent-encodes as many whole characters as fit. */
function encodedStart(text: string, limit: number): string {
  let encoded = '';
  for (const character of text) {
    const next = encodeURIComponent(character);
    if (encoded.length + next.length > limit) break;
    encoded += next;
  }
  return encoded;
}

/** The values that `objectMetadata` wrote; null when some are missing, because the object is not ours. */
export function readObjectMetadata(metadata: Readonly<Record<string, string>>): Described | null {
  const id = metadata['file-id'];
  const name = metadata['original-name'];
  const ownerId = metadata['owner-id'];
  const projectSlug = metadata['project-slug'];
  if (id === undefined || name === undefined || ownerId === undefined || projectSlug === undefined)
    return null;
  const { owner, folder, path = '' } = metadata;
  const expiresIn = Number(metadata['expires-in']);
  try {
    return {
      ...{ id, originalName: decodeURIComponent(name), ownerId, projectSlug },
      ...(owner === undefined ? {} : { owner }),
      ...(folder === undefined ? {} : { folder, path: decodeURIComponent(path) }),
      ...(expiresIn >= 1 && expiresIn <= longestExpiry ? { expiresIn } : {}),
    };
  } catch {
    // the name was encoded by another program
    return null;
  }
}
