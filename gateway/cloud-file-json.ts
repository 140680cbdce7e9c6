import type { CloudFile } from '../common/metadata/cloud-files.ts';

/** The seven fields of a CloudFile as clients get them. */
export function cloudFileJson(file: CloudFile, s3Link: string) {
  return {
    _id: file.id,
    name: file.name,
    originalName: file.originalName,
    ownedBy: file.ownerId,
    s3Link,
    updatedAt: file.updatedAt.toISOString(),
    createdAt: file.createdAt.toISOString(),
  };
}
