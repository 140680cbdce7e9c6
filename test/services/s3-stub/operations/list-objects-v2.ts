import { compareUtf8 } from '../bucket-state.ts';
import type { Operation } from '../operation.ts';
import { type XmlChild, xmlDocument } from '../render-xml.ts';
import { s3Error } from '../s3-error.ts';

/** https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html */
export const listObjectsV2: Operation = {
  body: 'document',
  run(call, stub) {
    const prefix = call.query.get('prefix') ?? '';
    const token = call.query.get('continuation-token');
    const after = token === undefined ? '' : keyOf(token);
    const rest = stub.bucket
      .objects()
      .filter(({ key }) => key.startsWith(prefix) && compareUtf8(key, after) > 0);
    const page = rest.slice(0, stub.pageSize);
    const last = page.length < rest.length ? page.at(-1) : undefined;
    return {
      status: 200,
      xml: xmlDocument('ListBucketResult', [
        ['Name', call.bucket],
        ['Prefix', prefix],
        token === undefined ? null : ['ContinuationToken', token],
        last === undefined ? null : ['NextContinuationToken', tokenAfter(last.key)],
        ['KeyCount', page.length],
        ['MaxKeys', stub.pageSize],
        ['IsTruncated', last !== undefined],
        ...page.map(
          (object): XmlChild => [
            'Contents',
            [
              ['Key', object.key],
              ['LastModified', object.lastModified.toISOString()],
              ['ETag', `"${object.etag}"`],
              ['Size', object.blob.size],
              ['StorageClass', 'STANDARD'],
            ],
          ],
        ),
      ]),
    };
  },
};

/** "ContinuationToken is obfuscated and is not a real key": nobody should come to rely on its form. */
function tokenAfter(key: string): string {
  return Buffer.from(`1/${key}`).toString('base64');
}

function keyOf(token: string): string {
  const text = Buffer.from(token, 'base64').toString();
  if (!text.startsWith('1/')) {
    throw s3Error('InvalidArgument', 'The continuation token provided is incorrect', {
      ArgumentName: 'continuation-token',
    });
  }
  return text.slice(2);
}
