import type { MultipartUpload } from '../bucket-state.ts';
import { crc32ToBase64 } from '../crc32-combine.ts';
import type { Operation } from '../operation.ts';
import type { ReceivedBody } from '../receive-body.ts';
import { s3Error } from '../s3-error.ts';
import { readPartNumber, uploadOf } from '../upload-call.ts';

/** https://docs.aws.amazon.com/AmazonS3/latest/API/API_UploadPart.html */
export const uploadPart: Operation = {
  body: 'blob',
  check(call, stub) {
    readPartNumber(call.query.get('partNumber'));
    uploadOf(call, stub);
  },
  run(call, stub, body) {
    // again: the upload may have been aborted while the body came
    const upload = uploadOf(call, stub);
    checkChecksum(upload, body);
    const etag = body.md5?.toString('hex') ?? stub.newEtag();
    stub.bucket.putPart(upload, {
      partNumber: readPartNumber(call.query.get('partNumber')),
      etag,
      md5: body.md5,
      crc32: body.crc32,
      lastModified: stub.now(),
      blob: body.blob,
    });
    return {
      status: 200,
      headers: {
        etag: `"${etag}"`,
        ...(body.declaredCrc32 !== null && { 'x-amz-checksum-crc32': crc32ToBase64(body.declaredCrc32) }),
      },
    };
  },
};

/**
 * AWS refuses a part with a checksum when the upload was created without an algorithm, and one without when the type
 * is COMPOSITE; with FULL_OBJECT a part need not have one.
 */
function checkChecksum(upload: MultipartUpload, body: ReceivedBody): void {
  const expected = upload.checksumType === null ? 'null' : 'crc32';
  const actual = body.declaredCrc32 === null ? 'null' : 'crc32';
  if (expected === actual || (upload.checksumType === 'FULL_OBJECT' && actual === 'null')) return;
  throw s3Error(
    'InvalidRequest',
    `Checksum Type mismatch occurred, expected checksum Type: ${expected}, actual checksum Type: ${actual}`,
  );
}
