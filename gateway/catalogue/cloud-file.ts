/**
 * How it was made sure that an object which a client sent by itself has the client's bytes: by its size alone, by MD5s or
 * CRCs that the store checked, or by reading it.
 */
export type Verified = 'size' | 'md5' | 'checksum' | 'bytes';

/** What keeps a file from being shown: a scanner has not looked at it yet, or has found something. */
export type HiddenState = 'checking' | 'refused';

/** A stored file. Its bytes never change; `trashedAt` and `state` do. */
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
  /** The folder, and the file's path below it; absent: the file is in none. */
  readonly folder?: string | undefined;
  readonly path?: string | undefined;
  /** From then on the file is gone; absent: it stays. */
  readonly expiresAt?: Date | undefined;
  /** In the trash since then. */
  readonly trashedAt?: Date | undefined;
  /** Absent: the file is published. */
  readonly state?: HiddenState | undefined;
  /** Pixels, as shown; absent: not a picture or video, or not known. */
  readonly width?: number | undefined;
  readonly height?: number | undefined;
  /** Seconds; absent: neither video nor sound, or not known. */
  readonly duration?: number | undefined;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** What changes of a stored file; null: it ends. */
export interface FileChange {
  readonly trashedAt?: Date | null;
  readonly state?: HiddenState | null;
}

/** Whether everyone may see a file who may see its project's files. @param now milliseconds since 1970 */
export function isPublished(file: CloudFile, now = Date.now()): boolean {
  return file.state === undefined && isThere(file, now);
}

/** Whether it is neither in the trash nor expired, whatever a scanner says. */
export function isThere({ trashedAt, expiresAt }: CloudFile, now = Date.now()): boolean {
  return trashedAt === undefined && (expiresAt === undefined || expiresAt.getTime() > now);
}

/** The stored files of an account. */
export interface StorageUse {
  readonly files: number;
  readonly bytes: number;
}
