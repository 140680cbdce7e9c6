import type { Readable } from 'node:stream';
import { AwsChunkedDecoder } from './aws-chunked.ts';
import type { Blob, BlobStorage } from './blob.ts';
import { BodyDigests } from './body-digests.ts';
import { ChunkSignatures } from './chunk-signatures.ts';
import {
  type DeclaredIntegrity,
  isStreaming,
  readCrc32,
  readDeclaredIntegrity,
} from './declared-integrity.ts';
import { readStream } from './read-stream.ts';
import { s3Error } from './s3-error.ts';
import type { VerifiedRequest } from './verify-signature.ts';

export interface ReceivedBody {
  readonly blob: Blob;
  readonly crc32: number | null;
  /** What the client sent, in a header or the trailer. */
  readonly declaredCrc32: number | null;
  readonly declaredMd5: boolean;
  /** Null when the storage keeps no bytes. */
  readonly md5: Buffer | null;
}

export interface ReceiveBodyArgs {
  readonly source: Readable;
  readonly header: (name: string) => string | undefined;
  readonly verified: VerifiedRequest;
  readonly storage: BlobStorage;
  readonly maxBytes: number;
  /** False: digests that were sent are believed. */
  readonly verifyDigests: boolean;
  /** Told of every chunk as it comes from the socket; may throw. */
  readonly onRaw: (bytes: number) => void;
}

/** Reads a body to its end and verifies everything said about it; when that fails nothing is kept. */
export async function receiveBody(args: ReceiveBodyArgs): Promise<ReceivedBody> {
  const { verified, storage } = args;
  const declared = readDeclaredIntegrity(args.header, verified.payloadHash);
  refuseLength(args, declared);
  const digests = new BodyDigests({
    crc32: args.verifyDigests,
    md5: args.verifyDigests && (storage.keepsBytes || declared.md5 !== null),
    sha256: args.verifyDigests && /^[0-9a-f]{64}$/.test(verified.payloadHash),
  });
  const writer = storage.open();
  try {
    let size = 0;
    const accept = (data: Buffer): Promise<void> | undefined => {
      size += data.length;
      if (size > args.maxBytes) throw entityTooLarge();
      digests.update(data);
      return writer.write(data);
    };
    const trailer = await readPayload(args, accept);
    if (declared.decodedBytes !== null && declared.decodedBytes !== size) {
      throw s3Error('IncompleteBody', 'The body is not as long as x-amz-decoded-content-length says');
    }
    const declaredCrc32 = declared.crc32InTrailer ? readTrailer(trailer) : declared.crc32;
    const { crc32, md5, sha256 } = digests.finish();
    if (sha256 !== null && sha256 !== verified.payloadHash) {
      throw s3Error(
        'XAmzContentSHA256Mismatch',
        "The provided 'x-amz-content-sha256' header does not match what was computed.",
        { ClientComputedContentSHA256: verified.payloadHash, S3ComputedContentSHA256: sha256 },
      );
    }
    if (declaredCrc32 !== null && crc32 !== null && declaredCrc32 !== crc32) {
      throw s3Error('BadDigest', 'The CRC32 you specified did not match the calculated checksum.');
    }
    if (declared.md5 !== null && md5 !== null && !md5.equals(declared.md5)) {
      throw s3Error('BadDigest', 'The Content-MD5 you specified did not match what we received.');
    }
    const blob = await writer.finish();
    return {
      blob,
      crc32: crc32 ?? declaredCrc32,
      declaredCrc32,
      declaredMd5: declared.md5 !== null,
      md5: storage.keepsBytes ? md5 : null,
    };
  } catch (error) {
    await writer.discard();
    throw error;
  }
}

/** Resolves with the trailer, which is empty unless the body is aws-chunked. */
async function readPayload(
  { source, verified, onRaw }: ReceiveBodyArgs,
  accept: (data: Buffer) => Promise<void> | undefined,
): Promise<ReadonlyMap<string, string>> {
  if (!isStreaming(verified.payloadHash)) {
    await readStream(source, (chunk) => {
      onRaw(chunk.length);
      return accept(chunk);
    });
    return new Map();
  }
  const signed = verified.payloadHash.startsWith('STREAMING-AWS4');
  const decoder = new AwsChunkedDecoder(accept, signed ? new ChunkSignatures(verified) : null);
  await readStream(source, (chunk) => {
    onRaw(chunk.length);
    return decoder.write(chunk);
  });
  decoder.end();
  return decoder.trailer;
}

/** https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html: MissingContentLength, EntityTooLarge. */
function refuseLength({ header, maxBytes }: ReceiveBodyArgs, declared: DeclaredIntegrity): void {
  if (header('transfer-encoding') !== undefined && declared.decodedBytes === null) {
    throw s3Error(
      'NotImplemented',
      'A header you provided implies functionality that is not implemented: Transfer-Encoding',
    );
  }
  const length = declared.decodedBytes ?? Number(header('content-length') ?? 0);
  if (length > maxBytes) throw entityTooLarge();
}

function readTrailer(trailer: ReadonlyMap<string, string>): number {
  const crc = readCrc32(trailer.get('x-amz-checksum-crc32'));
  if (crc === null) throw s3Error('MalformedTrailerError', 'The trailer that x-amz-trailer names is missing');
  return crc;
}

function entityTooLarge(): Error {
  return s3Error('EntityTooLarge', 'Your proposed upload exceeds the maximum allowed size');
}
