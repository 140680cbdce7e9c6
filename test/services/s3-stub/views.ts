import type { MultipartUpload, StoredObject } from './bucket-state.ts';

/** What a test sees of an object. */
export interface ObjectView {
  readonly key: string;
  readonly size: number;
  /** Of all bytes, as a number. */
  readonly crc32: number;
  readonly etag: string;
  readonly contentType: string;
  readonly contentDisposition: string | undefined;
  readonly metadata: Readonly<Record<string, string>>;
  readonly lastModified: Date;
  /** Null unless storage is memory. */
  readonly bytes: Buffer | null;
}

export interface UploadView {
  readonly key: string;
  readonly uploadId: string;
  readonly initiated: Date;
  readonly parts: readonly {
    readonly partNumber: number;
    readonly size: number;
    readonly crc32: number;
  }[];
}

export function objectView({
  key,
  etag,
  crc32,
  headers,
  metadata,
  lastModified,
  blob,
}: StoredObject): ObjectView {
  return {
    key,
    size: blob.size,
    crc32,
    etag,
    contentType: headers['content-type'] ?? '',
    contentDisposition: headers['content-disposition'],
    metadata,
    lastModified,
    // joining a large object costs, and most tests don't look
    get bytes() {
      return blob.bytes();
    },
  };
}

export function uploadView({ key, uploadId, initiated, parts }: MultipartUpload): UploadView {
  return {
    key,
    uploadId,
    initiated,
    parts: [...parts.values()]
      .map((part) => ({ partNumber: part.partNumber, size: part.blob.size, crc32: part.crc32 }))
      .sort((a, b) => a.partNumber - b.partNumber),
  };
}
