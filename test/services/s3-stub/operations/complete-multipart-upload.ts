import type { Part } from '../bucket-state.ts';
import { crc32Combine, crc32ToBase64 } from '../crc32-combine.ts';
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
    checkSizes(stub, parts);
    // of all bytes, from the parts' own
    const crc32 = parts.reduce((sum, part) => crc32Combine(sum, part.crc32, part.blob.size), 0);
    checkChecksum(call, crc32);
    const etag = `${stub.newEtag()}-${parts.length}`;
    const { headers, metadata, key, checksums } = upload;
    stub.bucket.completeUpload(upload, parts, {
      ...{ headers, metadata, key, checksums, etag, crc32 },
      lastModified: new Date(),
    });
    return {
      status: 200,
      xml: xmlDocument('CompleteMultipartUploadResult', [
        ['Location', `http://${call.header('host')}/${call.bucket}/${call.key}`],
        ['Bucket', call.bucket],
        ['Key', call.key],
        ['ETag', `"${etag}"`],
        checksums ? ['ChecksumCRC32', crc32ToBase64(crc32)] : null,
        checksums ? ['ChecksumType', 'FULL_OBJECT'] : null,
      ]),
    };
  },
};

function checkSizes(stub: StubContext, parts: readonly Part[]): void {
  const small = parts.slice(0, -1).find((part) => part.blob.size < stub.minPartBytes);
  if (small === undefined) return;
  throw s3Error('EntityTooSmall', 'Your proposed upload is smaller than the minimum allowed size', {
    ProposedSize: `${small.blob.size}`,
    MinSizeAllowed: `${stub.minPartBytes}`,
    PartNumber: `${small.partNumber}`,
    ETag: small.etag,
  });
}

function checkChecksum(call: S3Call, crc32: number): void {
  const declared = call.header('x-amz-checksum-crc32');
  if (declared !== undefined && declared !== crc32ToBase64(crc32)) {
    throw s3Error('BadDigest', 'The CRC32 you specified did not match the calculated checksum.');
  }
}
