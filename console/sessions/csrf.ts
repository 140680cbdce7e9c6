import { createHmac, timingSafeEqual } from 'node:crypto';
import { csrfRefused, wrongContentType } from '../../common/errors/catalogue.ts';
import type { HttpRequest } from '../../common/http/http-types.ts';
import { isLoopback } from '../../common/http/transport-policy.ts';

/** Only who has the session's cookie, or was answered by the API of the dashboard, knows it. Nothing is stored. */
export function csrfTokenOf(cookie: string): string {
  return createHmac('sha256', cookie).update('sluice csrf token 1').digest('base64url');
}

/** Throws 403 unless the request carries the token of its session. */
export function checkCsrfToken(request: HttpRequest, cookie: string): void {
  const given = Buffer.from(request.header('x-csrf-token') ?? '');
  const expected = Buffer.from(csrfTokenOf(cookie));
  if (given.length === expected.length && timingSafeEqual(given, expected)) return;
  throw csrfRefused('The header X-CSRF-Token is not that of the session');
}

/**
 * Throws when a page of another origin sends a change. It can't send JSON without asking (a preflight, which is never
 * granted), and browsers say where a request comes from: Sec-Fetch-Site, or Origin where they are old. Other clients say
 * nothing, and have no cookies of anybody.
 * @param args.publicUrl where clients see the process, if that is configured
 * @param args.secure it comes by TLS, so that the certificate says that the host is ours
 */
export function checkSameOrigin(
  request: HttpRequest,
  { publicUrl, secure }: { readonly publicUrl: string | undefined; readonly secure: boolean },
): void {
  if (!secure && !isOwnHost(request.header('host') ?? '', publicUrl)) {
    throw csrfRefused(
      'Without TLS this is only taken by the names localhost and 127.0.0.1, or that of PUBLIC_URL',
    );
  }
  const site = request.header('sec-fetch-site');
  const origin = request.header('origin');
  const same =
    site !== undefined ? site === 'same-origin' : origin === undefined || isOwn(origin, request, publicUrl);
  if (!same) throw csrfRefused('A change is only taken from a page of the same origin');
  const type = request.header('content-type')?.split(';')[0]?.trim().toLowerCase();
  if (request.method === 'POST' && type !== 'application/json') throw wrongContentType('application/json');
}

/** A page whose host name was pointed at this machine after it was loaded (DNS rebinding) is of our origin otherwise. */
function isOwnHost(host: string, publicUrl: string | undefined): boolean {
  const url = URL.canParse(`http://${host}`) ? new URL(`http://${host}`) : null;
  if (url === null) return false;
  if (publicUrl !== undefined && url.hostname === new URL(publicUrl).hostname) return true;
  return url.hostname === 'localhost' || isLoopback(url.hostname.replace(/^\[(.*)\]$/, '$1'));
}

function isOwn(origin: string, request: HttpRequest, publicUrl: string | undefined): boolean {
  if (publicUrl !== undefined && origin === new URL(publicUrl).origin) return true;
  return URL.canParse(origin) && new URL(origin).host === request.header('host')?.toLowerCase();
}
