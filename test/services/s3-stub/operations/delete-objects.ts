import type { Operation } from '../operation.ts';
import { childText, malformedXml, parseXml } from '../parse-xml.ts';
import { type XmlChild, xmlDocument } from '../render-xml.ts';
import { s3Error } from '../s3-error.ts';

/** "The request can contain a list of up to 1,000 keys": https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteObjects.html */
const maxKeys = 1000;

export const deleteObjects: Operation = {
  body: 'document',
  run(_call, stub, body) {
    if (!body.declaredMd5 && body.declaredCrc32 === null) {
      throw s3Error('InvalidRequest', 'Missing required header for this request: Content-MD5');
    }
    const root = parseXml((body.blob.bytes() ?? Buffer.alloc(0)).toString());
    const entries = root.children.filter((child) => child.name === 'Object');
    if (root.name !== 'Delete' || entries.length === 0 || entries.length > maxKeys) throw malformedXml();
    const keys = entries.map((entry) => {
      const key = childText(entry, 'Key');
      if (key === undefined || key === '') throw malformedXml();
      if (childText(entry, 'VersionId') !== undefined) {
        throw s3Error('NotImplemented', 'The bucket is not versioned');
      }
      return key;
    });
    for (const key of keys) stub.bucket.deleteObject(key);
    const quiet = childText(root, 'Quiet')?.trim() === 'true';
    return {
      status: 200,
      xml: xmlDocument(
        'DeleteResult',
        quiet ? [] : keys.map((key): XmlChild => ['Deleted', [['Key', key]]] as const),
      ),
    };
  },
};
