import type { ObjectDescription } from '#objects/object-description.ts';
import { storedHeaders } from './content-type-policy.ts';
import type { FileDraft } from './file-draft.ts';
import { objectMetadata } from './object-metadata.ts';

/** The description that the store keeps with the bytes of a file. */
export function objectDescription(file: FileDraft): ObjectDescription {
  return {
    contentType: file.contentType,
    metadata: objectMetadata(file),
    served: storedHeaders(file.contentType, file.originalName, file.name),
  };
}
