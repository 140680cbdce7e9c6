import { malformedRequest } from '#kernel/errors/catalogue.ts';
import { isUuid } from '#kernel/ids/is-uuid.ts';
import type { HttpRequest } from '#server/http/http-types.ts';
import { decodeSegment } from '#server/http/router.ts';
import type { FilePlace } from '../catalogue/folder-index.ts';
import { fileNotFound } from '../download/object-bytes.ts';
import { pathProblem } from '../files/folder-path.ts';

/** The address of a file in a folder. */
export interface AddressedPlace extends FilePlace {
  /** Of a signed folder, as it was sent; null: the address is not signed. */
  readonly signed: { readonly expires: string; readonly signature: string } | null;
}

const signedPattern = /^~(\d{1,12})-([^/]+)$/;

/**
 * Reads `{folder}/{path}` and `{folder}/~{expires}-{signature}/{path}`. Throws 404 for what can be no folder, 400 for what
 * can be no path.
 */
export function readPlace({ params }: Pick<HttpRequest, 'params'>): AddressedPlace {
  const { folder = '', rest = '' } = params;
  if (!isUuid(folder)) throw fileNotFound();
  if (!rest.startsWith('~')) return { folder, path: readPath(rest), signed: null };
  const slash = `${rest}/`.indexOf('/');
  // what does not look like a signature is refused like a wrong one
  const [, expires = '', signature = ''] = signedPattern.exec(decodeSegment(rest.slice(0, slash))) ?? [];
  return { folder, path: readPath(rest.slice(slash + 1)), signed: { expires, signature } };
}

/** A path as it is in an address, where each segment is encoded by itself. Throws 400. */
export function readPath(sent: string): string {
  const segments = sent.split('/').map(decodeSegment);
  if (segments.some((segment) => segment.includes('/')))
    throw malformedRequest('The path has an encoded slash: names of files in folders have none');
  const path = segments.join('/');
  const problem = pathProblem(path);
  if (problem !== null) throw malformedRequest(`The path ${problem}`);
  return path;
}
