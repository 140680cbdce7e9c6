import { count, dateTime, exactObject, named, string } from '#kernel/json/schema.ts';
import type { CloudFile } from '../catalogue/cloud-file.ts';

/** A CloudFile for clients: the seven fields of interface.md section 2.1, then our own. JSON leaves out what is undefined. */
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
    sha256: file.sha256,
    verified: file.verified,
    folder: file.folder,
    path: file.path,
    expiresAt: file.expiresAt?.toISOString(),
    trashedAt: file.trashedAt?.toISOString(),
    state: file.state,
    width: file.width,
    height: file.height,
    duration: file.duration,
  };
}

/** Its schema in the OpenAPI document. */
export const cloudFile = named(
  'CloudFile',
  exactObject(
    {
      _id: { type: 'string', format: 'uuid', description: 'Unique file identifier' },
      name: { ...string, description: 'Generated file name that includes the unique id' },
      originalName: { ...string, description: 'The file name as uploaded' },
      ownedBy: { ...string, description: 'Id of the user who uploaded the file' },
      s3Link: { type: 'string', format: 'uri', description: 'Address of the file' },
      updatedAt: dateTime,
      createdAt: dateTime,
      contentType: { ...string, description: 'Media type' },
      size: { ...count, description: 'Bytes' },
      sha256: {
        type: 'string',
        pattern: '^[0-9a-f]{64}$',
        description: 'SHA-256 of the file. Only with DIGEST=sha-256, or verified by its bytes',
      },
      verified: {
        type: 'string',
        enum: ['size', 'md5', 'checksum', 'bytes'],
        description: 'Of a file that was sent straight to the object store: what proves its bytes',
      },
      folder: { ...string, description: 'Id of its folder' },
      path: { ...string, description: 'Where it is below the folder' },
      expiresAt: { ...dateTime, description: 'When it is gone' },
      trashedAt: { ...dateTime, description: 'Since when it is in the trash' },
      state: {
        type: 'string',
        enum: ['checking', 'refused'],
        description: 'Absent: published. Else a scanner has not looked at it yet, or has found something',
      },
      width: { ...count, description: 'Pixels, as shown. Of images and videos, where it is known' },
      height: { ...count, description: 'Pixels, as shown' },
      duration: { type: 'number', description: 'Seconds. Of videos and sound, where it is known' },
    },
    {
      optional: [
        ...['sha256', 'verified', 'folder', 'path', 'expiresAt', 'trashedAt', 'state'],
        ...['width', 'height', 'duration'],
      ],
    },
  ),
);
