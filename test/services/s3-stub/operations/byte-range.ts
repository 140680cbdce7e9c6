import { s3Error } from '../s3-error.ts';

/**
 * The bytes that a Range header asks for, end exclusive; null for the whole object. RFC 9110 section 14.2: a header
 * that isn't understood is ignored, and S3 answers only one range.
 */
export function readRange(header: string | undefined, size: number): { start: number; end: number } | null {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header ?? '');
  if (match === null || (match[1] === '' && match[2] === '')) return null;
  const [, first = '', last = ''] = match;
  const start = first === '' ? Math.max(size - Number(last), 0) : Number(first);
  const end = first === '' || last === '' ? size : Math.min(Number(last) + 1, size);
  if (first !== '' && last !== '' && Number(last) < Number(first)) return null;
  if (start >= size) {
    throw s3Error('InvalidRange', 'The requested range is not satisfiable', {
      RangeRequested: header ?? '',
      ActualObjectSize: `${size}`,
    });
  }
  return { start, end };
}
