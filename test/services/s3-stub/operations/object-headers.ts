import type { StoredObject } from '../bucket-state.ts';
import { crc32ToBase64 } from '../crc32-combine.ts';
import { metadataHeaders } from '../object-description.ts';
import type { S3Call } from '../operation.ts';

/** The headers that GetObject and HeadObject share. A part of an object has no checksum. */
export function objectHeaders(call: S3Call, object: StoredObject, whole: boolean): Record<string, string> {
  const checksum = whole && object.checksums && call.header('x-amz-checksum-mode') === 'ENABLED';
  return {
    ...metadataHeaders(object),
    'accept-ranges': 'bytes',
    etag: `"${object.etag}"`,
    'last-modified': object.lastModified.toUTCString(),
    ...(checksum && {
      'x-amz-checksum-crc32': crc32ToBase64(object.crc32),
      'x-amz-checksum-type': 'FULL_OBJECT',
    }),
  };
}
