import { crc32ToBase64 } from '../crc32-combine.ts';
import { checkWriteCondition, readDescription } from '../object-description.ts';
import type { Operation } from '../operation.ts';

/** https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutObject.html */
export const putObject: Operation = {
  body: 'blob',
  check(call, stub) {
    readDescription(call);
    checkWriteCondition(call, stub.bucket.has(call.key));
  },
  run(call, stub, body) {
    checkWriteCondition(call, stub.bucket.has(call.key));
    const etag = body.md5?.toString('hex') ?? stub.newEtag();
    const checksum =
      body.declaredCrc32 === null
        ? null
        : { type: 'FULL_OBJECT' as const, value: crc32ToBase64(body.declaredCrc32) };
    stub.bucket.putObject({
      ...readDescription(call),
      key: call.key,
      etag,
      lastModified: stub.now(),
      crc32: body.crc32,
      checksum,
      blob: body.blob,
    });
    return {
      status: 200,
      headers: {
        etag: `"${etag}"`,
        ...(checksum !== null && {
          'x-amz-checksum-crc32': checksum.value,
          'x-amz-checksum-type': checksum.type,
        }),
      },
    };
  },
};
