import type { Operation } from '../operation.ts';

/** Also 204 when there is no such object: https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteObject.html */
export const deleteObject: Operation = {
  body: 'document',
  run(call, stub) {
    stub.bucket.deleteObject(call.key);
    return { status: 204 };
  },
};
