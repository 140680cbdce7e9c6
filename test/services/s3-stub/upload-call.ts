import type { MultipartUpload } from './bucket-state.ts';
import type { S3Call, StubContext } from './operation.ts';
import { s3Error } from './s3-error.ts';

/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html: part numbers are 1 to 10,000. */
export const maxPartNumber = 10_000;

export function uploadOf(call: S3Call, stub: StubContext): MultipartUpload {
  return stub.bucket.upload(call.query.get('uploadId') ?? '', call.key);
}

export function readPartNumber(text: string | undefined): number {
  const partNumber = text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (partNumber < 1 || partNumber > maxPartNumber) {
    throw s3Error(
      'InvalidArgument',
      `Part number must be an integer between 1 and ${maxPartNumber}, inclusive`,
      { ArgumentName: 'partNumber', ArgumentValue: text ?? '' },
    );
  }
  return partNumber;
}
