import type { MultipartUpload } from '../bucket-state.ts';
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
    const etag = stub.newEtag();
    stub.bucket.putPart(upload, {
      partNumber: readPartNumber(call.query.get('partNumber')),
      ...{ etag, crc32: body.crc32, blob: body.blob },
      lastModified: new Date(),
    });
    return { status: 200, headers: { etag: `"${etag}"` } };
  },
};

/** AWS refuses a part with a checksum when the upload was created without an algorithm; the other way is allowed. */
function checkChecksum(upload: MultipartUpload, body: ReceivedBody): void {
  if (upload.checksums || body.declaredCrc32 === null) return;
  throw s3Error(
    'InvalidRequest',
    'Checksum Type mismatch occurred, expected checksum Type: null, actual checksum Type: crc32',
  );
}
