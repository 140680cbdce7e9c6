import type { Operation } from '../operation.ts';
import { readRange } from './byte-range.ts';
import { objectHeaders } from './object-headers.ts';

/** https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetObject.html */
export const getObject: Operation = {
  body: 'document',
  run(call, stub) {
    const object = stub.bucket.object(call.key);
    const { size } = object.blob;
    const range = readRange(call.header('range'), size);
    const headers = objectHeaders(call, object, range === null);
    if (range === null) return { status: 200, headers, blob: { blob: object.blob, start: 0, end: size } };
    headers['content-range'] = `bytes ${range.start}-${range.end - 1}/${size}`;
    return { status: 206, headers, blob: { blob: object.blob, ...range } };
  },
};
