import { unsupportedMediaType, wrongContentType } from '#kernel/errors/catalogue.ts';
import type { HttpRequest } from '#server/http/http-types.ts';

const json = 'application/json';

/** The media type of the bodies that QUERY takes (RFC 10008 section 3). */
export const acceptQuery = { 'accept-query': `"${json}"` } as const;

const token = "[\\w!#$%&'*+.^`|~-]+";
const mediaType = new RegExp(`^(${token}/${token})((?:\\s*;\\s*${token}=(?:${token}|"[^"]*"))*)$`);

/**
 * RFC 10008 section 2.1: "a server MUST fail the request if the Content-Type request field is missing or is inconsistent
 * with the request content". Throws a 400, or a 415 for another media type.
 */
export function requireQueryType(request: Pick<HttpRequest, 'header'>): void {
  const contentType = request.header('content-type')?.trim().toLowerCase() ?? '';
  // nearly all requests
  if (contentType === json) return;
  const match = mediaType.exec(contentType);
  if (match === null) throw wrongContentType(json);
  const charset = /;\s*charset="?([^";]*)/.exec(match[2] ?? '')?.[1] ?? 'utf-8';
  if (match[1] !== json || charset !== 'utf-8') throw unsupportedMediaType(json, acceptQuery);
}
