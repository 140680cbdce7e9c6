import type { S3Context } from './s3-context.ts';
import { failureOf } from './s3-failure.ts';

/** The format of x-amz-checksum-crc32: four bytes, big-endian, in base64. */
export function checksumText(crc32: number): string {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(crc32);
  return bytes.toString('base64');
}

/**
 * Begins an object with x-amz-checksum-* headers, and retries without them if the server refuses them. The store remembers
 * that, so it costs only one request. Most servers check or ignore these headers.
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
      log.warn({ err: error }, 'the S3 server refuses checksums: they are omitted from now on');
    checksums.on = false;
    return begin(false);
  }
}

/** Not a wrong checksum (BadDigest, 400), which is a different error. */
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
