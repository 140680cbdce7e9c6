import type { ObjectDescription } from '#objects/object-store.ts';
import { storedHeaders } from './content-type-policy.ts';
import type { FileDraft } from './file-draft.ts';
import { objectMetadata } from './object-metadata.ts';

/** The description of a file that the store keeps beside its bytes. */
export function objectDescription(file: FileDraft): ObjectDescription {
  return {
    contentType: file.contentType,
    metadata: objectMetadata(file),
    served: storedHeaders(file.contentType, file.originalName, file.name),
  };
}
