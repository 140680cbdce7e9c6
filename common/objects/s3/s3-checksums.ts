import type { S3Context } from './s3-context.ts';
import { failureOf } from './s3-failure.ts';

/** The form of x-amz-checksum-crc32: four bytes, high one first, in base64. */
export function checksumText(crc32: number): string {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(crc32);
  return bytes.toString('base64');
}

/**
 * Begins an object with x-amz-checksum-* headers; again without, when the server refuses these headers. That
 * is remembered for the life of the store, so it costs one request. Most servers check them or ignore them.
 */
export async function withoutChecksumsIfRefused<T>(
  { checksums, log }: Pick<S3Context, 'checksums' | 'log'>,
  begin: (checksums: boolean) => Promise<T>,
): Promise<T> {
  if (!checksums.on) return begin(false);
  try {
    return await begin(true);
  } catch (error) {
    if (!refusesChecksums(error)) throw error;
    if (checksums.on)
      log.warn({ err: error }, 'the S3 server refuses checksums: they are left out from now on');
    checksums.on = false;
    return begin(false);
  }
}

/** Not a checksum that doesn't match (BadDigest, 400), which is an error of its own. */
function refusesChecksums(error: unknown): boolean {
  const { status, code } = failureOf(error);
  if (!(error instanceof Error) || !/checksum/i.test(error.message)) return false;
  if (status === 501) return true;
  return (
    status === 400 &&
    ['InvalidArgument', 'InvalidRequest', 'NotImplemented'].includes(code) &&
    /unsupported|not (?:implemented|supported|allowed|recognized)|unknown|unexpected/i.test(error.message)
  );
}
