import { payloadTooLarge, uploadConflict } from '#kernel/errors/catalogue.ts';
import { isStoredName } from '#kernel/ids/stored-name.ts';
import type { WrittenBytes } from '#objects/object-store.ts';
import type { FileDraft } from '../files/file-draft.ts';
import type { MediaSizes } from '../inspect/sizes.ts';

/** The bytes after the written parts, too few for another part: stored as a separate object. */
export interface Remainder {
  readonly key: string;
  readonly size: number;
}

/** State of a resumable upload. Plain JSON, kept beside its bytes. */
export interface UploadState {
  /** Its name is also the upload's. */
  readonly file: FileDraft;
  /** Upload-Metadata as it was sent. */
  readonly metadata: string;
  /** Null: the client has yet to send it. */
  readonly length: number | null;
  /** Absent: MAX_UPLOAD_BYTES. */
  readonly maxBytes?: number;
  /** Rules bind the upload, for the owner of its file, or for a stranger. */
  readonly bound?: true;
  /** The type, or the beginning of one, that the bytes must have; absent: any. */
  readonly verifiedType?: string;
  /** What the first bytes told; absent: they have not been inspected, or were too few. `file` has their type. */
  readonly sizes?: MediaSizes;
  /** The size of every part but the last: part boundaries are the same in every gateway. */
  readonly partBytes: number;
  readonly written: WrittenBytes | null;
  readonly rest: Remainder | null;
  /** Milliseconds since 1970. */
  readonly savedAt: number;
  /** The last Repr-Digest, which covers all bytes. */
  readonly reprDigest?: string;
  /** partial: its bytes become part of a file. final: it joins partial uploads. */
  readonly concat?: 'partial' | 'final';
  /** Names of the partial uploads that a final upload joins. */
  readonly parts?: readonly string[];
  /** Name of the only file that a partial upload may be joined to, so that its bytes count once. */
  readonly into?: string;
}

/** The properties that the first request of an upload sets. */
export type UploadProperties = Omit<
  UploadState,
  'file' | 'sizes' | 'partBytes' | 'written' | 'rest' | 'savedAt' | 'into'
>;

/** Whether all bytes of a partial upload have arrived: they are then one object, its remainder. */
export function isWholePart({ concat, rest, file }: UploadState): boolean {
  return concat === 'partial' && rest?.key === file.objectKey;
}

/** Whether an upload joins partial ones: only its id is a UUIDv5, derived from theirs. */
export function isFinal(name: string): boolean {
  return name[14] === '5';
}

/** The offset of the upload: bytes that are stored durably. */
export function offsetOf({ written, rest }: UploadState): number {
  return (written?.size ?? 0) + (rest?.size ?? 0);
}

/** Whether all bytes are written, so that only the object and its row are missing. */
export function isWhole({ length, written }: UploadState): boolean {
  return length !== null && length === (written?.size ?? 0);
}

/**
 * Sets the length, if it was deferred. Throws 409 for a length that differs from an earlier one. @param length of the
 * request; null: it has none
 */
export function withLength(state: UploadState, length: number | null): UploadState {
  if (length === null || length === state.length) return state;
  if (state.length !== null)
    throw uploadConflict(`The length of the upload is ${state.length}, and not ${length}`);
  if (length > (state.maxBytes ?? length)) throw payloadTooLarge(state.maxBytes ?? length, 'The upload');
  if (length < offsetOf(state)) throw uploadConflict(`The upload has ${offsetOf(state)} bytes already`);
  return { ...state, length };
}

/** The state, if it belongs to this upload at this offset: another account may send the same name. */
export function stateAt(
  state: UploadState | undefined,
  { ownerId, projectSlug }: Pick<UploadAddress, 'ownerId' | 'projectSlug'>,
  offset: number,
): UploadState | undefined {
  if (state?.file.ownerId !== ownerId || state.file.projectSlug !== projectSlug) return undefined;
  return offsetOf(state) === offset ? state : undefined;
}

export interface UploadAddress {
  readonly deploymentId: string;
  readonly ownerId: string;
  readonly projectSlug: string;
  /** Stored name of the future file. */
  readonly name: string;
}

/** Keys of uploads have five segments, keys of files four; no account has this id. */
const folder = '_resumable';

export function uploadsPrefix(deploymentId: string): string {
  return `${deploymentId}/${folder}/`;
}

/** The key of an upload's state. */
export function stateKey({ deploymentId, ownerId, projectSlug, name }: UploadAddress): string {
  return `${uploadsPrefix(deploymentId)}${ownerId}/${projectSlug}/${name}`;
}

const restMark = '!';

/** The key of a remainder that ends at an offset. */
export function restKey(address: UploadAddress, offset: number): string {
  return `${stateKey(address)}${restMark}${offset}`;
}

/** The key of the object that a partial upload becomes: no remainder ends at 0. */
export function partKey(address: UploadAddress): string {
  return restKey(address, 0);
}

/** The upload whose state or remainder has this key; null: there is none. */
export function readUploadKey(key: string): (UploadAddress & { readonly isRest: boolean }) | null {
  const [deploymentId = '', middle, ownerId = '', projectSlug = '', last = '', ...more] = key.split('/');
  const [name = '', rest] = last.split(restMark);
  if (middle !== folder || more.length > 0 || !isStoredName(name)) return null;
  return { deploymentId, ownerId, projectSlug, name, isRest: rest !== undefined };
}
