import type { Operation } from '../operation.ts';
import { uploadOf } from '../upload-call.ts';

/** https://docs.aws.amazon.com/AmazonS3/latest/API/API_AbortMultipartUpload.html */
export const abortMultipartUpload: Operation = {
  body: 'document',
  run(call, stub) {
    stub.bucket.abortUpload(uploadOf(call, stub));
    return { status: 204 };
  },
};
