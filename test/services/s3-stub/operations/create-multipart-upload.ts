import { readDescription } from '../object-description.ts';
import type { Operation, S3Call } from '../operation.ts';
import { xmlDocument } from '../render-xml.ts';
import { s3Error } from '../s3-error.ts';

/** https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateMultipartUpload.html */
export const createMultipartUpload: Operation = {
  body: 'document',
  run(call, stub) {
    const checksums = readChecksums(call);
    const upload = {
      ...readDescription(call),
      key: call.key,
      uploadId: stub.newUploadId(),
      initiated: new Date(),
      checksums,
      parts: new Map(),
    };
    stub.bucket.addUpload(upload);
    return {
      status: 200,
      headers: checksums ? { 'x-amz-checksum-algorithm': 'CRC32', 'x-amz-checksum-type': 'FULL_OBJECT' } : {},
      xml: xmlDocument('InitiateMultipartUploadResult', [
        ['Bucket', call.bucket],
        ['Key', call.key],
        ['UploadId', upload.uploadId],
      ]),
    };
  },
};

/** Of all that S3 knows there is the CRC32 of the whole object here: userguide "Checking object integrity in Amazon S3". */
function readChecksums(call: S3Call): boolean {
  const asked = [call.header('x-amz-checksum-algorithm'), call.header('x-amz-checksum-type')];
  if (asked.every((value) => value === undefined)) return false;
  if (asked.join() === 'CRC32,FULL_OBJECT') return true;
  throw s3Error('NotImplemented', `The stub has no such checksums: ${asked.join()}`);
}
