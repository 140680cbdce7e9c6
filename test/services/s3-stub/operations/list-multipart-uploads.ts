import { compareUtf8 } from '../bucket-state.ts';
import type { Operation } from '../operation.ts';
import { type XmlChild, xmlDocument } from '../render-xml.ts';

/**
 * https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListMultipartUploads.html: with upload-id-marker the list goes
 * on within the key of key-marker, after that upload id; without it, after that key. upload-id-marker alone is ignored.
 */
export const listMultipartUploads: Operation = {
  body: 'document',
  run(call, stub) {
    const prefix = call.query.get('prefix') ?? '';
    const keyMarker = call.query.get('key-marker') ?? '';
    const idMarker = keyMarker === '' ? '' : (call.query.get('upload-id-marker') ?? '');
    const rest = stub.bucket.uploads().filter(({ key, uploadId }) => {
      if (!key.startsWith(prefix)) return false;
      const order = compareUtf8(key, keyMarker);
      return order > 0 || (order === 0 && idMarker !== '' && compareUtf8(uploadId, idMarker) > 0);
    });
    const page = rest.slice(0, stub.pageSize);
    const next = page.length < rest.length ? page.at(-1) : undefined;
    return {
      status: 200,
      xml: xmlDocument('ListMultipartUploadsResult', [
        ['Bucket', call.bucket],
        ['KeyMarker', keyMarker],
        ['UploadIdMarker', idMarker],
        next === undefined ? null : ['NextKeyMarker', next.key],
        next === undefined ? null : ['NextUploadIdMarker', next.uploadId],
        ['Prefix', prefix],
        ['MaxUploads', stub.pageSize],
        ['IsTruncated', next !== undefined],
        ...page.map(
          (upload): XmlChild => [
            'Upload',
            [
              ['Key', upload.key],
              ['UploadId', upload.uploadId],
              ['StorageClass', 'STANDARD'],
              ['Initiated', upload.initiated.toISOString()],
            ],
          ],
        ),
      ]),
    };
  },
};
