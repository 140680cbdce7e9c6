/**
 * How it was made sure that an object which a client sent by itself has the client's bytes: by its size alone, by MD5s or
 * CRCs that the store checked, or by reading it.
 */
export type Verified = 'size' | 'md5' | 'checksum' | 'bytes';

/** A stored file. It never changes. */
export interface CloudFile {
  /** UUID. */
  readonly id: string;
  /** Unique; the last segment of the file's address. */
  readonly name: string;
  readonly originalName: string;
  /** The account. */
  readonly ownerId: string;
  /** Id of the user for whom it was uploaded, for rules; absent: none. No answer has it. */
  readonly owner?: string | undefined;
  readonly projectSlug: string;
  readonly objectKey: string;
  readonly contentType: string;
  /** Bytes. */
  readonly size: number;
  readonly crc32: number;
  /** Lower-case hexadecimal digits; absent: it was not computed. */
  readonly sha256?: string | undefined;
  /** Absent: the bytes came through a gateway. */
  readonly verified?: Verified | undefined;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** The stored files of an account. */
export interface StorageUse {
  readonly files: number;
  readonly bytes: number;
}
