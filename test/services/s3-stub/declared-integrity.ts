import { crc32FromBase64 } from './crc32-combine.ts';
import { s3Error } from './s3-error.ts';

/** What a request says about its body. */
export interface DeclaredIntegrity {
  /** From x-amz-checksum-crc32; null when absent, or still to come in the trailer. */
  readonly crc32: number | null;
  readonly crc32InTrailer: boolean;
  readonly md5: Buffer | null;
  /** x-amz-decoded-content-length */
  readonly decodedBytes: number | null;
}

const streaming = /^STREAMING-(UNSIGNED-PAYLOAD|AWS4-HMAC-SHA256-PAYLOAD)(-TRAILER)?$/;

export function isStreaming(payloadHash: string): boolean {
  return payloadHash.startsWith('STREAMING-');
}

export function readDeclaredIntegrity(
  header: (name: string) => string | undefined,
  payloadHash: string,
): DeclaredIntegrity {
  if (
    payloadHash !== 'UNSIGNED-PAYLOAD' &&
    !/^[0-9a-f]{64}$/.test(payloadHash) &&
    (!streaming.test(payloadHash) || payloadHash === 'STREAMING-UNSIGNED-PAYLOAD')
  ) {
    throw s3Error(
      'InvalidArgument',
      'x-amz-content-sha256 must be UNSIGNED-PAYLOAD, STREAMING-... or a hash',
      {
        ArgumentName: 'x-amz-content-sha256',
        ArgumentValue: payloadHash,
      },
    );
  }
  const trailer = header('x-amz-trailer')?.trim().toLowerCase();
  if (trailer !== undefined && trailer !== 'x-amz-checksum-crc32') {
    throw s3Error('NotImplemented', `No trailer but x-amz-checksum-crc32 is implemented: ${trailer}`);
  }
  if ((trailer !== undefined) !== payloadHash.endsWith('-TRAILER')) {
    throw s3Error('InvalidRequest', 'x-amz-trailer and x-amz-content-sha256 disagree about a trailer');
  }
  return {
    crc32: readCrc32(header('x-amz-checksum-crc32')),
    crc32InTrailer: trailer !== undefined,
    md5: readMd5(header('content-md5')),
    decodedBytes: isStreaming(payloadHash) ? readDecodedLength(header('x-amz-decoded-content-length')) : null,
  };
}

export function readCrc32(text: string | undefined): number | null {
  if (text === undefined) return null;
  const crc = crc32FromBase64(text);
  if (crc === null) throw s3Error('InvalidRequest', 'Value for x-amz-checksum-crc32 header is invalid.');
  return crc;
}

function readMd5(text: string | undefined): Buffer | null {
  if (text === undefined) return null;
  const md5 = Buffer.from(text, 'base64');
  if (md5.length !== 16 || md5.toString('base64') !== text) {
    throw s3Error('InvalidDigest', 'The Content-MD5 you specified was invalid.');
  }
  return md5;
}

function readDecodedLength(text: string | undefined): number {
  if (text === undefined || !/^\d{1,15}$/.test(text)) {
    throw s3Error('MissingContentLength', 'You must provide the x-amz-decoded-content-length HTTP header.');
  }
  return Number(text);
}
