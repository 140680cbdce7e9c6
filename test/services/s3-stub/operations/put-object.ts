import { readDescription } from '../object-description.ts';
import type { Operation } from '../operation.ts';

/** https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutObject.html */
export const putObject: Operation = {
  body: 'blob',
  check(call) {
    readDescription(call);
  },
  run(call, stub, { blob, crc32, declaredCrc32 }) {
    const etag = stub.newEtag();
    stub.bucket.putObject({
      ...readDescription(call),
      ...{ key: call.key, etag, crc32, blob },
      lastModified: new Date(),
      checksums: declaredCrc32 !== null,
    });
    return { status: 200, headers: { etag: `"${etag}"` } };
  },
};
