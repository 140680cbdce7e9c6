import { unsupportedMediaType, wrongContentType } from '#kernel/errors/catalogue.ts';
import type { HttpRequest } from '#server/http/http-types.ts';

const wanted = 'application/json';

/** The media type of the bodies that QUERY takes (RFC 10008 section 3). */
export const acceptQuery = { 'accept-query': `"${wanted}"` } as const;

const token = "[\\w!#$%&'*+.^`|~-]+";
const mediaType = new RegExp(`^(${token}/${token})((?:\\s*;\\s*${token}=(?:${token}|"[^"]*"))*)$`);

/**
 * RFC 10008 section 2.1: "a server MUST fail the request if the Content-Type request field is missing or is inconsistent
 * with the request content". Throws a 400, or a 415 for a type that is not understood.
 */
export function requireQueryType(request: Pick<HttpRequest, 'header'>): void {
  const given = request.header('content-type')?.trim().toLowerCase() ?? '';
  // nearly all of them
  if (given === wanted) return;
  const match = mediaType.exec(given);
  if (match === null) throw wrongContentType(wanted);
  const charset = /;\s*charset="?([^";]*)/.exec(match[2] ?? '')?.[1] ?? 'utf-8';
  if (match[1] !== wanted || charset !== 'utf-8') throw unsupportedMediaType(wanted, acceptQuery);
}
