import type { ObjectDescription } from './object-description.ts';

/** A part that a client sends to the store by itself. */
export interface PartToSend {
  /** From 1. */
  readonly number: number;
  /** Bytes. */
  readonly size: number;
  /** MD5 in base64, which is then signed: most stores refuse other bytes. */
  readonly md5?: string | undefined;
  /** CRC-32C in base64, for uploads with checksums. */
  readonly crc32c?: string | undefined;
}

/** A PUT for a client to send, with exactly these headers and the Content-Length of the part, which is signed too. */
export interface SignedPut {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A part as the store lists it. */
export interface UploadedPart {
  /** From 1. */
  readonly number: number;
  /** Bytes. */
  readonly size: number;
  /** Without quotes. */
  readonly etag: string;
}

/** An object as the store shows it. Checksums are those of the whole object, in base64, where the store has them. */
export interface InspectedObject {
  /** Bytes. */
  readonly size: number;
  /** Without quotes. */
  readonly etag: string;
  readonly crc32c?: string | undefined;
  readonly crc64nvme?: string | undefined;
}

/** What the store was seen to enforce. */
export interface DirectAbilities {
  /** PutObject with `If-None-Match: *` is refused if the object exists. */
  readonly refusesOverwrite: boolean;
  /** The ETag of a part, and of an object that was sent at once, is its MD5. */
  readonly etagIsMd5: boolean;
  /** A wrong Content-MD5, as a signed header, is refused. */
  readonly checksMd5: boolean;
  /** A wrong x-amz-checksum-crc32c, as a signed header, is refused. */
  readonly checksChecksums: boolean;
}

/** An object that clients send. */
export interface DirectUpload {
  readonly key: string;
  readonly description: ObjectDescription;
  /** Null: one PutObject. */
  readonly uploadId: string | null;
  /** Parts are sent with their CRC-32C. */
  readonly checksums: boolean;
}

/** What a reader of an address gets beside the bytes. */
export interface ReadAddressOptions {
  readonly contentType: string;
  readonly contentDisposition: string;
  readonly cacheControl: string;
  /** Seconds. Temporary credentials may end it earlier. */
  readonly lifetime: number;
}

/**
 * Addresses with which others reach objects without us, and what it takes to make objects of what they sent. Whoever has
 * an address may use it until it expires. Every implementation passes test/integration/direct-store-contract.ts.
 */
export interface DirectStore {
  /** The least of a part, unless it is the last one. Bytes. */
  readonly smallestPart: number;
  /** The most of a part, or of an object that is sent at once. Bytes. */
  readonly largestPart: number;
  /** In one upload. */
  readonly mostParts: number;
  /** Probed when first asked, and remembered. A store that can't be probed now enforces nothing. */
  abilities(signal: AbortSignal): Promise<DirectAbilities>;
  /** Begins a multipart upload. @returns its id */
  begin(
    key: string,
    description: ObjectDescription,
    options: { readonly checksums: boolean },
    signal: AbortSignal,
  ): Promise<string>;
  /** An address for a PUT of the object, or of one part of it. Empty parts have none. @param lifetime seconds */
  putAddress(
    upload: DirectUpload,
    part: PartToSend,
    lifetime: number,
    signal?: AbortSignal,
  ): Promise<SignedPut>;
  /** By number, each once; null: there is no such upload. */
  listParts(upload: DirectUpload, signal: AbortSignal): Promise<readonly UploadedPart[] | null>;
  /**
   * Makes the object of these parts, which are all that `listParts` lists: some stores refuse a list that leaves one out.
   * False: there is no such upload (any more), and `inspect` tells whether it was completed before.
   */
  complete(
    upload: DirectUpload,
    parts: readonly (UploadedPart & Pick<PartToSend, 'crc32c'>)[],
    signal: AbortSignal,
  ): Promise<boolean>;
  /** Drops a multipart upload with its parts. Also resolves if it is gone. */
  abort(upload: DirectUpload, signal: AbortSignal): Promise<void>;
  /** Null: there is no object. */
  inspect(key: string, signal: AbortSignal): Promise<InspectedObject | null>;
  /** An address for GET of an object, or ranges of it. It does not check that the object exists. */
  readAddress(key: string, options: ReadAddressOptions, signal: AbortSignal): Promise<string>;
}

/** What it takes for uploads. */
export type DirectUploadStore = Omit<DirectStore, 'readAddress'>;
