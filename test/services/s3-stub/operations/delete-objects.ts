import type { Operation } from '../operation.ts';
import { childText, malformedXml, parseXml } from '../parse-xml.ts';
import { xmlDocument } from '../render-xml.ts';
import { s3Error } from '../s3-error.ts';

/** https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteObjects.html */
export const deleteObjects: Operation = {
  body: 'document',
  run(call, stub, body) {
    if (call.header('x-amz-checksum-crc32') === undefined && call.header('content-md5') === undefined) {
      throw s3Error('InvalidRequest', 'Missing required header for this request: Content-MD5');
    }
    const root = parseXml((body.blob.bytes() ?? Buffer.alloc(0)).toString());
    const keys = root.children.flatMap((child) => (child.name === 'Object' ? [childText(child, 'Key')] : []));
    if (root.name !== 'Delete' || keys.length === 0 || keys.length > 1000) throw malformedXml();
    for (const key of keys) if (key !== undefined) stub.bucket.deleteObject(key);
    // of what was deleted a quiet request hears nothing
    return { status: 200, xml: xmlDocument('DeleteResult', []) };
  },
};
