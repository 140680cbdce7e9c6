import type { ObjectDescription } from './object-store.ts';

/** A part that a client sends to the store by itself. */
export interface PartToSend {
  /** From 1. */
  readonly number: number;
  /** Bytes. */
  readonly size: number;
  /** MD5 in base64, which is then signed: the store refuses other bytes. */
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
  readonly number: number;
  /** Bytes. */
  readonly size: number;
  /** Without quotes. */
  readonly etag: string;
}

/** An object as the store shows it. */
export interface InspectedObject {
  /** Bytes. */
  readonly size: number;
  /** Without quotes. */
  readonly etag: string;
  /** Of the whole object in base64, where the store has it. */
  readonly crc32c?: string | undefined;
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

/** The part of a store that others reach by themselves, through addresses that we sign. */
export interface DirectStore {
  /** Limits of parts, in bytes; the last part may be smaller. */
  readonly smallestPart: number;
  readonly largestPart: number;
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
  /** @param lifetime seconds */
  putAddress(upload: DirectUpload, part: PartToSend, lifetime: number): Promise<SignedPut>;
  /** Each number once, in order; null: there is no such upload. */
  listParts(upload: DirectUpload, signal: AbortSignal): Promise<readonly UploadedPart[] | null>;
  /** Makes the object of all these parts. False: there is no such upload, perhaps because it was completed before. */
  complete(
    upload: DirectUpload,
    parts: readonly (UploadedPart & Pick<PartToSend, 'crc32c'>)[],
    signal: AbortSignal,
  ): Promise<boolean>;
  /** Drops a multipart upload. Also resolves if it is gone. */
  abort(upload: DirectUpload, signal: AbortSignal): Promise<void>;
  /** Null: there is no object. */
  inspect(key: string, signal: AbortSignal): Promise<InspectedObject | null>;
}
