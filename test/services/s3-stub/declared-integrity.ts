import { crc32FromBase64 } from './crc32-combine.ts';
import { s3Error } from './s3-error.ts';

/** What a request says about its body. */
export interface DeclaredIntegrity {
  /** x-amz-checksum-crc32; null when absent. */
  readonly crc32: number | null;
  /** x-amz-content-sha256; null where the payload is not signed. */
  readonly sha256: string | null;
}

export function readDeclaredIntegrity(crc32: string | undefined, payloadHash: string): DeclaredIntegrity {
  const isHash = /^[0-9a-f]{64}$/.test(payloadHash);
  if (payloadHash !== 'UNSIGNED-PAYLOAD' && !isHash) {
    throw s3Error('InvalidArgument', 'x-amz-content-sha256 must be UNSIGNED-PAYLOAD or a hash', {
      ArgumentName: 'x-amz-content-sha256',
      ArgumentValue: payloadHash,
    });
  }
  return { crc32: readCrc32(crc32), sha256: isHash ? payloadHash : null };
}

function readCrc32(text: string | undefined): number | null {
  if (text === undefined) return null;
  const crc = crc32FromBase64(text);
  if (crc === null) throw s3Error('InvalidRequest', 'Value for x-amz-checksum-crc32 header is invalid.');
  return crc;
}
