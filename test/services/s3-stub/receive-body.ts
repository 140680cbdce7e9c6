import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import type { Blob, BlobStorage } from './blob.ts';
import type { DeclaredIntegrity } from './declared-integrity.ts';
import { readStream } from './read-stream.ts';
import { s3Error } from './s3-error.ts';

export interface ReceivedBody {
  readonly blob: Blob;
  readonly crc32: number;
  /** What the client sent. */
  readonly declaredCrc32: number | null;
}

export interface ReceiveBodyArgs {
  readonly source: Readable;
  readonly declared: DeclaredIntegrity;
  readonly storage: BlobStorage;
  /** Told of every chunk as it comes from the socket; may throw. */
  readonly onRaw: (bytes: number) => void;
}

/** Reads a body to its end and verifies everything said about it; when that fails nothing is kept. */
export async function receiveBody({
  source,
  declared,
  storage,
  onRaw,
}: ReceiveBodyArgs): Promise<ReceivedBody> {
  const writer = storage.open();
  const hash = declared.sha256 === null ? null : createHash('sha256');
  let sum = 0;
  try {
    await readStream(source, (chunk) => {
      onRaw(chunk.length);
      sum = crc32(chunk, sum);
      hash?.update(chunk);
      return writer.write(chunk);
    });
    const sha256 = hash?.digest('hex') ?? null;
    if (sha256 !== declared.sha256) {
      throw s3Error(
        'XAmzContentSHA256Mismatch',
        "The provided 'x-amz-content-sha256' header does not match what was computed.",
        { ClientComputedContentSHA256: `${declared.sha256}`, S3ComputedContentSHA256: `${sha256}` },
      );
    }
    if (declared.crc32 !== null && declared.crc32 !== sum) {
      throw s3Error('BadDigest', 'The CRC32 you specified did not match the calculated checksum.');
    }
    return { blob: await writer.finish(), crc32: sum, declaredCrc32: declared.crc32 };
  } catch (error) {
    await writer.discard();
    throw error;
  }
}
