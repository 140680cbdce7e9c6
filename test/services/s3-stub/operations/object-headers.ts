import type { StoredObject } from '../bucket-state.ts';
import { metadataHeaders } from '../object-description.ts';
import type { S3Call } from '../operation.ts';

/** The headers that GetObject and HeadObject share. A part of an object has no checksum. */
export function objectHeaders(call: S3Call, object: StoredObject, whole: boolean): Record<string, string> {
  const checksum = whole && call.header('x-amz-checksum-mode') === 'ENABLED' ? object.checksum : null;
  return {
    ...metadataHeaders(object),
    'accept-ranges': 'bytes',
    etag: `"${object.etag}"`,
    'last-modified': object.lastModified.toUTCString(),
    ...(checksum !== null && {
      'x-amz-checksum-crc32': checksum.value,
      'x-amz-checksum-type': checksum.type,
    }),
  };
}
