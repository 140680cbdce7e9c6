import type { HttpRequest } from './http-types.ts';

export type HostCookie = ReturnType<typeof createHostCookie>;

/**
 * A cookie of this host. It has no Domain, and covers all paths, so that no other host can set or see it. RFC 6265bis
 * section 4.1.3.2: browsers accept a `__Host-` cookie only over TLS, with Secure and without Domain. Plain HTTP, which
 * is only for this machine, needs another name.
 * @param args.tls whether the process terminates TLS @param args.lifetime milliseconds
 */
export function createHostCookie(args: {
  readonly name: string;
  readonly lifetime: number;
  readonly tls: boolean;
}) {
  const { name, lifetime, tls } = args;
  // a forwarded request that passed the transport policy without TLS came through a trusted proxy by HTTPS
  const isSecure = (request: HttpRequest): boolean =>
    tls || request.header('x-forwarded-proto') !== undefined;
  const nameFor = (request: HttpRequest): string => (isSecure(request) ? `__Host-${name}` : name);
  const text = (request: HttpRequest, value: string, maxAge: number): string =>
    `${nameFor(request)}=${value}; Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=Lax${isSecure(request) ? '; Secure' : ''}`;
  return {
    /** Null: the request has no such cookie. */
    read: (request: HttpRequest): string | null => cookieOf(request.header('cookie'), nameFor(request)),
    /** The Set-Cookie header that sets it. */
    set: (request: HttpRequest, value: string): string => text(request, value, lifetime / 1000),
    /** The Set-Cookie header that removes it. */
    clear: (request: HttpRequest): string => text(request, '', 0),
  };
}

/** RFC 6265 section 4.2.1. Repeated header lines, which HTTP/2 allows, are joined with commas. */
function cookieOf(header: string | undefined, name: string): string | null {
  for (const pair of header?.split(/[;,]/) ?? []) {
    const cut = pair.indexOf('=');
    if (cut >= 0 && pair.slice(0, cut).trim() === name) return pair.slice(cut + 1).trim();
  }
  return null;
}
