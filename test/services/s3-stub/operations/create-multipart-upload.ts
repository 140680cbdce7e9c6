import type { ChecksumType } from '../bucket-state.ts';
import { readDescription } from '../object-description.ts';
import type { Operation, S3Call } from '../operation.ts';
import { xmlDocument } from '../render-xml.ts';
import { s3Error } from '../s3-error.ts';
import { requireCrc32 } from '../upload-call.ts';

/** https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateMultipartUpload.html */
export const createMultipartUpload: Operation = {
  body: 'document',
  run(call, stub) {
    const checksumType = readChecksumType(call);
    const upload = {
      ...readDescription(call),
      key: call.key,
      uploadId: stub.newUploadId(),
      initiated: stub.now(),
      checksumType,
      parts: new Map(),
    };
    stub.bucket.addUpload(upload);
    return {
      status: 200,
      headers:
        checksumType === null
          ? {}
          : { 'x-amz-checksum-algorithm': 'CRC32', 'x-amz-checksum-type': checksumType },
      xml: xmlDocument('InitiateMultipartUploadResult', [
        ['Bucket', call.bucket],
        ['Key', call.key],
        ['UploadId', upload.uploadId],
      ]),
    };
  },
};

/** CRC32 is COMPOSITE unless FULL_OBJECT is asked for: userguide "Checking object integrity in Amazon S3". */
function readChecksumType(call: S3Call): ChecksumType | null {
  const algorithm = call.header('x-amz-checksum-algorithm');
  const type = call.header('x-amz-checksum-type');
  requireCrc32(algorithm);
  if (algorithm === undefined) {
    if (type === undefined) return null;
    throw s3Error('InvalidRequest', 'The x-amz-checksum-type header needs x-amz-checksum-algorithm');
  }
  if (type !== undefined && type !== 'FULL_OBJECT' && type !== 'COMPOSITE') {
    throw s3Error('InvalidRequest', 'Value for x-amz-checksum-type header is invalid.');
  }
  return type ?? 'COMPOSITE';
}
