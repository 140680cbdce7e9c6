import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { MultipartUpload, Part } from '../bucket-state.ts';
import { crc32Combine, crc32ToBase64 } from '../crc32-combine.ts';
import { checkWriteCondition } from '../object-description.ts';
import type { Operation, S3Call, StubContext } from '../operation.ts';
import { xmlDocument } from '../render-xml.ts';
import { s3Error } from '../s3-error.ts';
import { uploadOf } from '../upload-call.ts';
import { readPartList } from './read-part-list.ts';

/** https://docs.aws.amazon.com/AmazonS3/latest/API/API_CompleteMultipartUpload.html */
export const completeMultipartUpload: Operation = {
  body: 'document',
  checksumOfObject: true,
  run(call, stub, body) {
    const upload = uploadOf(call, stub);
    const parts = readPartList((body.blob.bytes() ?? Buffer.alloc(0)).toString(), upload);
    checkSizes(call, stub, parts);
    const full = combinedCrc32(parts);
    const checksum = checksumOf(upload, parts, full);
    checkChecksum(call, upload, full, checksum);
    checkWriteCondition(call, stub.bucket.has(call.key));
    const etag = etagOf(parts) ?? stub.newEtag();
    stub.bucket.completeUpload(upload, parts, {
      headers: upload.headers,
      metadata: upload.metadata,
      key: upload.key,
      etag,
      lastModified: stub.now(),
      crc32: full,
      checksum,
    });
    return {
      status: 200,
      xml: xmlDocument('CompleteMultipartUploadResult', [
        ['Location', `http://${call.header('host')}/${call.bucket}/${call.key}`],
        ['Bucket', call.bucket],
        ['Key', call.key],
        ['ETag', `"${etag}"`],
        checksum && ['ChecksumCRC32', checksum.value],
        checksum && ['ChecksumType', checksum.type],
      ]),
    };
  },
};

function checkSizes(call: S3Call, stub: StubContext, parts: readonly Part[]): void {
  const small = parts.slice(0, -1).find((part) => part.blob.size < stub.minPartBytes);
  if (small !== undefined) {
    throw s3Error('EntityTooSmall', 'Your proposed upload is smaller than the minimum allowed size', {
      ProposedSize: `${small.blob.size}`,
      MinSizeAllowed: `${stub.minPartBytes}`,
      PartNumber: `${small.partNumber}`,
      ETag: small.etag,
    });
  }
  const declared = call.header('x-amz-mp-object-size');
  const size = parts.reduce((sum, part) => sum + part.blob.size, 0);
  if (declared !== undefined && declared !== `${size}`) {
    throw s3Error('InvalidRequest', `The provided 'x-amz-mp-object-size' header does not match: ${size}`);
  }
}

/** CRC32 of all bytes, from the parts' own; null when one isn't known. */
function combinedCrc32(parts: readonly Part[]): number | null {
  return parts.reduce<number | null>(
    (sum, part) =>
      sum === null || part.crc32 === null ? null : crc32Combine(sum, part.crc32, part.blob.size),
    0,
  );
}

/** Userguide "Checking object integrity": a composite checksum is the checksum of the parts' checksums, then -N. */
function checksumOf(upload: MultipartUpload, parts: readonly Part[], full: number | null) {
  if (upload.checksumType === null || full === null) return null;
  if (upload.checksumType === 'FULL_OBJECT') {
    return { type: upload.checksumType, value: crc32ToBase64(full) };
  }
  const ofParts = parts.map((part) => Buffer.from(crc32ToBase64(part.crc32 ?? 0), 'base64'));
  return {
    type: upload.checksumType,
    value: `${crc32ToBase64(crc32(Buffer.concat(ofParts)))}-${parts.length}`,
  };
}

function checkChecksum(
  call: S3Call,
  upload: MultipartUpload,
  full: number | null,
  checksum: ReturnType<typeof checksumOf>,
): void {
  const type = call.header('x-amz-checksum-type');
  // "If the checksum type doesn't match ..., it'll result in a BadDigest error."
  if (type !== undefined && type !== upload.checksumType) {
    throw s3Error('BadDigest', 'The checksum type is not the one of CreateMultipartUpload.');
  }
  const declared = call.header('x-amz-checksum-crc32');
  // the full CRC is unknown only where digests aren't verified
  if (declared === undefined || full === null) return;
  if (declared !== (checksum?.value ?? crc32ToBase64(full))) {
    throw s3Error('BadDigest', 'The CRC32 you specified did not match the calculated checksum.');
  }
}

/** Not an MD5 of the object: the MD5 of the parts' MD5s, then -N. */
function etagOf(parts: readonly Part[]): string | null {
  const hash = createHash('md5');
  for (const part of parts) {
    if (part.md5 === null) return null;
    hash.update(part.md5);
  }
  return `${hash.digest('hex')}-${parts.length}`;
}
