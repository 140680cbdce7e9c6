import type { HttpRequest, HttpResponse } from '#server/http/http-types.ts';
import type { CloudFile } from '../catalogue/cloud-file.ts';
import { parseRange } from './byte-range.ts';
import { assertPreconditions, isNotModified, rangeApplies } from './conditional.ts';
import type { DirectDownloads } from './direct-downloads.ts';

const conditions = ['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since', 'if-range'];
/** S3 servers disagree on anything else: RGW sends the first of two ranges, rclone a 501. */
const oneRange = /^bytes=(?:\d+-\d*|-\d+)$/;

/**
 * Redirects a GET to the bucket; null: we have to answer it. The client repeats its conditions there, so they are
 * compared with the bucket's own validators. Throws 412, and 416 with the size, which S3 leaves out.
 * @param linkEnds as `DirectDownloads.address` takes it
 */
export async function redirectToBucket(
  direct: DirectDownloads,
  request: HttpRequest,
  file: CloudFile,
  linkEnds: number | null,
): Promise<HttpResponse | null> {
  const { signal } = request;
  const header = (name: string) => request.header(name);
  const range = header('range');
  let applies = true;
  if (conditions.some((name) => header(name) !== undefined)) {
    const validators = await direct.validators(file, signal);
    if (validators === null) return null;
    assertPreconditions(header, validators, true);
    if (isNotModified(header, validators)) return null;
    // S3 servers ignore If-Range
    applies = rangeApplies(header('if-range'), validators);
  }
  if (range !== undefined && (!applies || !oneRange.test(range) || parseRange(range, file.size) === null))
    return null;
  const location = await direct.address(file, linkEnds, signal);
  // a kept redirect would outlive the address, or the right to read the file
  return { status: 307, headers: { location, 'cache-control': 'private, no-store' } };
}
