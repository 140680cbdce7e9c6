import type { DirectAbilities, InspectedObject, UploadedPart } from '#objects/direct-store.ts';
import type { Verified } from '../catalogue/cloud-file.ts';
import type { DirectPlan } from '../plans/direct-plan.ts';

/** What the store has of a planned file. */
export interface Found {
  readonly object: InspectedObject;
  /** Null: the object was complete before, or is no multipart upload. */
  readonly parts: readonly UploadedPart[] | null;
}

/** Checksums that stores have of whole objects. */
const storeSums = ['crc32c', 'crc64nvme'] as const;

/** Names of the planned digests that the store says otherwise. */
export function wrongAtStore(plan: DirectPlan, object: InspectedObject): string[] {
  return storeSums.filter(
    (name) => plan[name] !== undefined && object[name] !== undefined && plan[name] !== object[name],
  );
}

/** What is proven of an object without reading it. */
export function proofOf(
  plan: DirectPlan,
  { object, parts }: Found,
  { checksMd5 }: DirectAbilities,
): Verified {
  const { checksums, partMd5, uploadId } = plan;
  // a wrong one was refused before this
  const compared = storeSums.some((name) => plan[name] !== undefined && object[name] !== undefined);
  if (checksums || compared) return 'checksum';
  if (partMd5 === undefined || plan.size === 0) return 'size';
  const listed = uploadId === null ? [{ number: 1, ...object }] : (parts ?? []);
  const etags = new Map(listed.map(({ number, etag }) => [number, etag.toLowerCase()]));
  const match = partMd5.every((md5, at) => etags.get(at + 1) === etagOfMd5(md5));
  return checksMd5 || match ? 'md5' : 'size';
}

/** The ETag of an object or a part at a store that makes it of the MD5. @param md5 in base64 */
export function etagOfMd5(md5: string): string {
  return Buffer.from(md5, 'base64').toString('hex');
}
