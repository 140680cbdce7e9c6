import { isStoredName } from '#kernel/ids/stored-name.ts';
import type { DirectUpload, PartToSend } from '#objects/direct-store.ts';
import type { FileDraft } from '../files/file-draft.ts';
import { objectDescription } from '../files/object-description.ts';

/** A file whose parts a client sends to the object store by itself. Plain JSON, which never changes. */
export interface DirectPlan {
  /** Its name is also the plan's. */
  readonly file: FileDraft;
  /** Bytes of the file, and of every part but the last. */
  readonly size: number;
  readonly partBytes: number;
  /** The multipart upload; null: one PutObject, or an empty file. */
  readonly uploadId: string | null;
  /** The store was seen to check the CRC-32C of parts, and all have one. */
  readonly checksums: boolean;
  /** Digests of the file as the client said them: hexadecimal, and four and eight bytes in base64. */
  readonly sha256?: string;
  readonly crc32c?: string;
  readonly crc64nvme?: string;
  /** Digests of each part, in base64. */
  readonly partMd5?: readonly string[];
  readonly partCrc32c?: readonly string[];
  /** Rules bind the upload, for the owner of its file, or for a stranger. */
  readonly bound?: true;
  /** The link whose use it took. */
  readonly link?: { readonly id: string; readonly times: number };
  /** The type, or the beginning of one, that the bytes must have; absent: any. */
  readonly verifiedType?: string;
  /** Milliseconds since 1970. */
  readonly plannedAt: number;
}

/** A part with its place in the file. */
export interface PlannedPart extends PartToSend {
  readonly offset: number;
}

export function partCount({ size, partBytes }: Pick<DirectPlan, 'size' | 'partBytes'>): number {
  return Math.ceil(size / partBytes);
}

/** @param number from 1 to the number of parts */
export function plannedPart(plan: DirectPlan, number: number): PlannedPart {
  const { size, partBytes, partMd5, partCrc32c } = plan;
  const offset = (number - 1) * partBytes;
  const md5 = partMd5?.[number - 1];
  const crc32c = partCrc32c?.[number - 1];
  return {
    number,
    offset,
    size: Math.min(partBytes, size - offset),
    ...(md5 !== undefined && { md5 }),
    ...(crc32c !== undefined && { crc32c }),
  };
}

/** The parts from one number to another, as far as there are. */
export function plannedParts(plan: DirectPlan, first: number, last: number): PlannedPart[] {
  const end = Math.min(last, partCount(plan));
  return Array.from({ length: Math.max(0, end - first + 1) }, (_, at) => plannedPart(plan, first + at));
}

/** The upload as the store knows it. */
export function uploadOf({ file, uploadId, checksums }: DirectPlan): DirectUpload {
  return { key: file.objectKey, description: objectDescription(file), uploadId, checksums };
}

/** Seconds for which an address is good. */
export const addressLifetime = 15 * 60;
/** Clocks of the store and of a gateway differ by less: S3 refuses signatures that are further off. Milliseconds. */
const clockSkew = 15 * 60_000;
/** How long after its last address a plan may still get bytes. Milliseconds. */
export const lateBytes = addressLifetime * 1000 + clockSkew + 60_000;

export interface PlanAddress {
  readonly deploymentId: string;
  readonly ownerId: string;
  readonly projectSlug: string;
  /** Stored name of the future file. */
  readonly name: string;
}

/** Keys of plans have five segments, keys of files four; no account has this id. */
const folder = '_direct';
const mark = '!';
const closed = 'closed';

export function plansPrefix(deploymentId: string): string {
  return `${deploymentId}/${folder}/`;
}

/** The key of a plan. */
export function planKey({ deploymentId, ownerId, projectSlug, name }: PlanAddress): string {
  return `${plansPrefix(deploymentId)}${ownerId}/${projectSlug}/${name}`;
}

/** The key that says: what still arrives under the name of this file is no file. */
export function closedKey(address: PlanAddress): string {
  return `${planKey(address)}${mark}${closed}`;
}

/** The key of a part at a store that clients do not reach by themselves. */
export function partKey(address: PlanAddress, number: number): string {
  return `${planKey(address)}${mark}${number}`;
}

export interface PlanObject extends PlanAddress {
  readonly is: 'plan' | 'closed' | 'part';
  /** Of a part; else 0. */
  readonly number: number;
}

/** What lies under a key below `plansPrefix`; null: nothing of ours. */
export function readPlanKey(key: string): PlanObject | null {
  const [deploymentId = '', middle, ownerId = '', projectSlug = '', last = '', ...more] = key.split('/');
  const [name = '', rest] = last.split(mark);
  if (middle !== folder || more.length > 0 || !isStoredName(name)) return null;
  const address = { deploymentId, ownerId, projectSlug, name };
  if (rest === undefined) return { ...address, is: 'plan', number: 0 };
  if (rest === closed) return { ...address, is: 'closed', number: 0 };
  return { ...address, is: 'part', number: Number(rest) };
}

/** Whether a file was planned: only its id is a UUIDv7, which begins with the time of the plan. */
export function isPlanned(name: string): boolean {
  return name[14] === '7';
}

/** When the plan of a file was made. Milliseconds since 1970. */
export function plannedAtOf(name: string): number {
  return Number.parseInt(name.slice(0, 8) + name.slice(9, 13), 16);
}
