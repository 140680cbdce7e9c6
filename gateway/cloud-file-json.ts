import type { CloudFile } from '../common/metadata/cloud-file.ts';

/** A CloudFile as clients get it: the seven fields of interface.md section 2.1, and two or three more. */
export function cloudFileJson(file: CloudFile, s3Link: string) {
  return {
    _id: file.id,
    name: file.name,
    originalName: file.originalName,
    ownedBy: file.ownerId,
    s3Link,
    updatedAt: file.updatedAt.toISOString(),
    createdAt: file.createdAt.toISOString(),
    contentType: file.contentType,
    size: file.size,
    ...(file.sha256 === undefined ? {} : { sha256: file.sha256 }),
  };
}
