import { invalidMultipart, wrongContentType } from '#kernel/errors/catalogue.ts';
import { parseParameters } from './header-parameters.ts';

/** The boundary of a Content-Type. Throws 400 unless it is multipart/form-data with a boundary. */
export function readBoundary(contentType: string | undefined): string {
  if (!/^[ \t]*multipart\/form-data[ \t]*(?:;|$)/i.test(contentType ?? '')) {
    throw wrongContentType('multipart/form-data');
  }
  const parsed = parseParameters(contentType ?? '');
  if (parsed === null) throw invalidMultipart('The parameters of the Content-Type are malformed');
  const boundary = parsed.parameters.get('boundary');
  if (boundary === undefined || boundary === '') {
    throw invalidMultipart('The Content-Type has no boundary: let your HTTP library set this header');
  }
  // RFC 2046 section 5.1.1: 1 to 70 characters, not ending with a space
  if (!/^[\x20-\x7e]{0,69}[\x21-\x7e]$/.test(boundary)) {
    throw invalidMultipart('The boundary should be 1 to 70 ASCII characters and not end with a space');
  }
  return boundary;
}
