import { invalidBody } from '#kernel/errors/catalogue.ts';
import type { DirectUploadStore } from '#objects/direct-store.ts';
import type { DirectPlan } from '../plans/direct-plan.ts';
import type { PlanRequest } from './plan-request.ts';

/** The size of parts unless a client wishes another. Bytes. */
export const usualPartBytes = 64 * 1024 * 1024;

/** The size of parts: as wished, as far as the store takes such parts, and not too many. */
export function partBytesFor(
  { smallestPart, largestPart, mostParts }: DirectUploadStore,
  { size, partBytes = usualPartBytes }: PlanRequest,
): number {
  return Math.min(largestPart, Math.max(partBytes, smallestPart, Math.ceil(size / mostParts)));
}

/** Digests of the parts. Throws 400 if there is another number of them. */
export function partDigests(
  { partMd5, partCrc32c, crc32c }: PlanRequest,
  { count, partBytes }: { readonly count: number; readonly partBytes: number },
): Pick<DirectPlan, 'partMd5' | 'partCrc32c'> {
  for (const [name, digests] of Object.entries({ partMd5, partCrc32c }))
    if (digests !== undefined && digests.length !== count)
      throw invalidBody([
        `${name} has ${digests.length} digests: with parts of ${partBytes} bytes the file has ${count}`,
      ]);
  const sums = partCrc32c ?? (count === 1 && crc32c !== undefined ? [crc32c] : undefined);
  return { ...(partMd5 && { partMd5 }), ...(sums && { partCrc32c: sums }) };
}
