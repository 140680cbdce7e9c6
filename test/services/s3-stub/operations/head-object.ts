import type { Operation } from '../operation.ts';
import { objectHeaders } from './object-headers.ts';

/** https://docs.aws.amazon.com/AmazonS3/latest/API/API_HeadObject.html */
export const headObject: Operation = {
  body: 'document',
  run(call, stub) {
    const object = stub.bucket.object(call.key);
    return {
      status: 200,
      headers: { ...objectHeaders(call, object, true), 'content-length': `${object.blob.size}` },
    };
  },
};
