import { s3Error } from './s3-error.ts';

/** Without x-amz-meta-*, which are all accepted. */
const accepted = new Set([
  'x-amz-checksum-algorithm',
  'x-amz-checksum-crc32',
  'x-amz-checksum-mode',
  'x-amz-checksum-type',
  'x-amz-content-sha256',
  'x-amz-date',
  'x-amz-decoded-content-length',
  'x-amz-expected-bucket-owner',
  'x-amz-mp-object-size',
  'x-amz-sdk-checksum-algorithm',
  'x-amz-trailer',
  'x-amz-user-agent',
]);
const conditions = ['if-match', 'if-modified-since', 'if-unmodified-since'];

/** Headers that would change the meaning of a request and are unknown here are refused, not ignored. */
export function refuseUnknownHeaders(names: Iterable<string>): void {
  for (const name of names) {
    const unknown = name.startsWith('x-amz-') && !name.startsWith('x-amz-meta-') && !accepted.has(name);
    if (unknown || conditions.includes(name)) {
      throw s3Error('NotImplemented', `A header you provided is not implemented by the stub: ${name}`);
    }
  }
}
