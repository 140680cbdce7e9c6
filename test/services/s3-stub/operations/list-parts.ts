import { crc32ToBase64 } from '../crc32-combine.ts';
import type { Operation } from '../operation.ts';
import { type XmlChild, xmlDocument } from '../render-xml.ts';
import { uploadOf } from '../upload-call.ts';

/** https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListParts.html */
export const listParts: Operation = {
  body: 'document',
  run(call, stub) {
    const upload = uploadOf(call, stub);
    const maxParts = Math.min(call.query.integer('max-parts', 1000, 0, 2 ** 31 - 1), stub.pageSize);
    const marker = call.query.integer('part-number-marker', 0, 0, 2 ** 31 - 1);
    const rest = [...upload.parts.values()]
      .filter((part) => part.partNumber > marker)
      .sort((a, b) => a.partNumber - b.partNumber);
    const page = rest.slice(0, maxParts);
    const next = page.length < rest.length ? page.at(-1) : undefined;
    const { checksums } = upload;
    return {
      status: 200,
      xml: xmlDocument('ListPartsResult', [
        ['Bucket', call.bucket],
        ['Key', upload.key],
        ['UploadId', upload.uploadId],
        ['StorageClass', 'STANDARD'],
        ['PartNumberMarker', marker],
        // "When a list is truncated": the SDK's paginator goes on for ever when it is always there
        next === undefined ? null : ['NextPartNumberMarker', next.partNumber],
        ['MaxParts', maxParts],
        ['IsTruncated', next !== undefined],
        checksums ? ['ChecksumAlgorithm', 'CRC32'] : null,
        checksums ? ['ChecksumType', 'FULL_OBJECT'] : null,
        ...page.map(
          (part): XmlChild => [
            'Part',
            [
              ['PartNumber', part.partNumber],
              ['LastModified', part.lastModified.toISOString()],
              ['ETag', `"${part.etag}"`],
              ['Size', part.blob.size],
              checksums ? ['ChecksumCRC32', crc32ToBase64(part.crc32)] : null,
            ],
          ],
        ),
      ]),
    };
  },
};
