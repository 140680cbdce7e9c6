import type { MultipartUpload, Part } from '../bucket-state.ts';
import { crc32FromBase64 } from '../crc32-combine.ts';
import { childText, malformedXml, parseXml, type XmlElement } from '../parse-xml.ts';
import { s3Error } from '../s3-error.ts';
import { maxPartNumber, readPartNumber } from '../upload-call.ts';

/** The parts that a CompleteMultipartUpload document names, each found and checked, in ascending order. */
export function readPartList(document: string, upload: MultipartUpload): Part[] {
  const root = parseXml(document);
  const entries = root.children.filter((child) => child.name === 'Part');
  if (root.name !== 'CompleteMultipartUpload' || entries.length === 0 || entries.length > maxPartNumber) {
    throw malformedXml();
  }
  let previous = 0;
  return entries.map((entry) => {
    const partNumber = readPartNumber(childText(entry, 'PartNumber')?.trim());
    if (partNumber <= previous) {
      throw s3Error(
        'InvalidPartOrder',
        'The list of parts was not in ascending order. Parts must be ordered by part number.',
      );
    }
    previous = partNumber;
    return findPart(entry, partNumber, upload);
  });
}

function findPart(entry: XmlElement, partNumber: number, upload: MultipartUpload): Part {
  const etag = childText(entry, 'ETag')
    ?.trim()
    .replace(/^"(.*)"$/, '$1');
  if (etag === undefined) throw malformedXml();
  const checksum = childText(entry, 'ChecksumCRC32')?.trim();
  const part = upload.parts.get(partNumber);
  // AWS takes a list without them for FULL_OBJECT; MinIO and Versity want each for every upload made with checksums
  const sameChecksum = checksum === undefined ? !upload.checksums : crc32FromBase64(checksum) === part?.crc32;
  if (part === undefined || part.etag !== etag || !sameChecksum) {
    throw s3Error(
      'InvalidPart',
      "One or more of the specified parts could not be found. The part may not have been uploaded, or the specified entity tag may not match the part's entity tag.",
      { UploadId: upload.uploadId, PartNumber: `${partNumber}`, ETag: etag },
    );
  }
  return part;
}
