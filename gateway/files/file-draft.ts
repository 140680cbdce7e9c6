import { fileKey } from '#objects/file-key.ts';
import type { CloudFile } from '../catalogue/cloud-file.ts';
import { checkOriginalName, storedName } from './file-name.ts';
import { mediaTypeOf } from './media-type.ts';
import type { SentProperties } from './sent-properties.ts';

/** The properties of a file that are known before its bytes. Plain JSON. */
export interface FileDraft
  extends Pick<
    CloudFile,
    | 'id'
    | 'name'
    | 'originalName'
    | 'ownerId'
    | 'owner'
    | 'projectSlug'
    | 'objectKey'
    | 'contentType'
    | 'folder'
    | 'path'
  > {
  /** Seconds from the end of its upload; absent: it stays. */
  readonly expiresIn?: number | undefined;
}

/**
 * Throws 400 for an invalid name. @param sent as the client sent it, with its place in a folder (FolderPlaces); `name`: the stored name of a copy
 */
export function draftFile(
  sent: SentProperties & {
    readonly fileName: string;
    readonly contentType: string | undefined;
    readonly name?: string | undefined;
  },
  {
    id,
    deploymentId,
    ownerId,
    owner,
    projectSlug,
  }: Pick<FileDraft, 'id' | 'ownerId' | 'owner' | 'projectSlug'> & { readonly deploymentId: string },
): FileDraft {
  const originalName = checkOriginalName(sent.fileName);
  const name = sent.name ?? storedName(id, originalName);
  const contentType = mediaTypeOf(sent.contentType, originalName);
  const { folder, path, expiresIn } = sent;
  return {
    id,
    name,
    originalName,
    ownerId,
    projectSlug,
    objectKey: fileKey({ deploymentId, ownerId, projectSlug, name }),
    contentType,
    ...(owner === undefined ? {} : { owner }),
    ...(folder === undefined ? {} : { folder, path }),
    ...(expiresIn === undefined ? {} : { expiresIn }),
  };
}

/** The file of a draft whose bytes are stored. @param createdAt from when on it expires */
export function fileOfDraft(
  draft: FileDraft,
  bytes: Pick<
    CloudFile,
    'size' | 'crc32' | 'sha256' | 'verified' | 'state' | 'width' | 'height' | 'duration'
  >,
  createdAt: Date,
): CloudFile {
  const { expiresIn } = draft;
  // two spreads would make a hash table of it, at 7 µs and 3.5 KB a file (docs/decisions/084-types-of-files.md)
  return {
    id: draft.id,
    name: draft.name,
    originalName: draft.originalName,
    ownerId: draft.ownerId,
    owner: draft.owner,
    projectSlug: draft.projectSlug,
    objectKey: draft.objectKey,
    contentType: draft.contentType,
    size: bytes.size,
    crc32: bytes.crc32,
    sha256: bytes.sha256,
    verified: bytes.verified,
    folder: draft.folder,
    path: draft.path,
    expiresAt: expiresIn === undefined ? undefined : new Date(createdAt.getTime() + expiresIn * 1000),
    trashedAt: undefined,
    state: bytes.state,
    width: bytes.width,
    height: bytes.height,
    duration: bytes.duration,
    createdAt,
    updatedAt: createdAt,
  };
}
