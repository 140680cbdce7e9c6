import { fileKey } from '#objects/file-key.ts';
import type { CloudFile } from '../catalogue/cloud-file.ts';
import { checkOriginalName, storedName } from './file-name.ts';
import { mediaTypeOf } from './media-type.ts';

/** The properties of a file that are known before its bytes. */
export type FileDraft = Omit<CloudFile, 'size' | 'crc32' | 'sha256' | 'verified' | 'createdAt' | 'updatedAt'>;

/**
 * Throws 400 for an invalid name. @param sent name and type as the client sent them; `name`: the stored name of a copy
 */
export function draftFile(
  sent: {
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
  return {
    id,
    name,
    originalName,
    ownerId,
    projectSlug,
    objectKey: fileKey({ deploymentId, ownerId, projectSlug, name }),
    contentType,
    ...(owner === undefined ? {} : { owner }),
  };
}
