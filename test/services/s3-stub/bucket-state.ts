import { type Blob, joinBlobs } from './blobs.ts';
import { s3Error } from './s3-error.ts';

/** What PutObject and CreateMultipartUpload say about an object beside its bytes. */
export interface ObjectDescription {
  /** Content-Type and the other headers that S3 keeps and gives back, x-amz-meta-* among them. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface StoredObject extends ObjectDescription {
  readonly key: string;
  readonly etag: string;
  readonly lastModified: Date;
  /** Of all bytes. */
  readonly crc32: number;
  /** Whether the upload had checksums, which are given back then. */
  readonly checksums: boolean;
  /** CRC-32C of all bytes in base64, when it was sent with that checksum. */
  readonly crc32c?: string | undefined;
  readonly blob: Blob;
}

export interface Part {
  readonly partNumber: number;
  readonly etag: string;
  readonly crc32: number;
  /** In base64, when it was sent with that checksum. */
  readonly crc32c?: string | undefined;
  readonly lastModified: Date;
  readonly blob: Blob;
}

export interface MultipartUpload extends ObjectDescription {
  readonly key: string;
  readonly uploadId: string;
  readonly initiated: Date;
  /** False when it was created without a checksum algorithm. */
  readonly checksums: boolean;
  /** It was created for CRC-32C. */
  readonly crc32c: boolean;
  readonly parts: Map<number, Part>;
}

/** One bucket. All changes are synchronous, so a request is either done or not done. */
export class BucketState {
  readonly #objects = new Map<string, StoredObject>();
  readonly #uploads = new Map<string, MultipartUpload>();

  has(key: string): boolean {
    return this.#objects.has(key);
  }

  object(key: string): StoredObject {
    const object = this.#objects.get(key);
    if (object === undefined) throw s3Error('NoSuchKey', 'The specified key does not exist.');
    return object;
  }

  putObject(object: StoredObject): void {
    this.deleteObject(object.key);
    this.#objects.set(object.key, object);
  }

  deleteObject(key: string): void {
    drop(this.#objects.get(key)?.blob);
    this.#objects.delete(key);
  }

  addUpload(upload: MultipartUpload): void {
    this.#uploads.set(upload.uploadId, upload);
  }

  upload(uploadId: string, key: string): MultipartUpload {
    const upload = this.#uploads.get(uploadId);
    if (upload === undefined || upload.key !== key) {
      throw s3Error('NoSuchUpload', 'The specified upload does not exist.');
    }
    return upload;
  }

  putPart(upload: MultipartUpload, part: Part): void {
    drop(upload.parts.get(part.partNumber)?.blob);
    upload.parts.set(part.partNumber, part);
  }

  /** Makes the object of the chosen parts; the others go. */
  completeUpload(upload: MultipartUpload, parts: readonly Part[], object: Omit<StoredObject, 'blob'>): void {
    this.#uploads.delete(upload.uploadId);
    const chosen = new Set(parts);
    for (const part of upload.parts.values()) if (!chosen.has(part)) drop(part.blob);
    this.putObject({ ...object, blob: joinBlobs(parts.map((part) => part.blob)) });
  }

  abortUpload(upload: MultipartUpload): void {
    this.#uploads.delete(upload.uploadId);
    for (const part of upload.parts.values()) drop(part.blob);
  }

  /** Makes all that is stored so many milliseconds older. */
  age(milliseconds: number): void {
    const before = (time: Date) => new Date(time.getTime() - milliseconds);
    for (const [key, object] of this.#objects)
      this.#objects.set(key, { ...object, lastModified: before(object.lastModified) });
    for (const [id, upload] of this.#uploads) {
      for (const [number, part] of upload.parts)
        upload.parts.set(number, { ...part, lastModified: before(part.lastModified) });
      this.#uploads.set(id, { ...upload, initiated: before(upload.initiated) });
    }
  }

  /** In the order that S3 lists: "UTF-8 binary order". */
  objects(): StoredObject[] {
    return [...this.#objects.values()].sort((a, b) => compareUtf8(a.key, b.key));
  }

  /** By key, then by upload id, which is given out in ascending order. */
  uploads(): MultipartUpload[] {
    return [...this.#uploads.values()].sort(
      (a, b) => compareUtf8(a.key, b.key) || compareUtf8(a.uploadId, b.uploadId),
    );
  }
}

export function compareUtf8(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** Files may go later than the answer; a file that can't be removed is the folder's owner's to find. */
function drop(blob: Blob | undefined): void {
  blob?.drop().catch(() => {});
}
