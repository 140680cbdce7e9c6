import { createHmac } from 'node:crypto';
import { equalSecrets } from '#auth/equal-secrets.ts';
import { csrfRefused, wrongContentType } from '#kernel/errors/catalogue.ts';
import type { HttpRequest } from '#server/http/http-types.ts';

/** A CSRF token derived from the session's cookie: other origins know neither. Nothing is stored. */
export function csrfTokenOf(cookie: string): string {
  return createHmac('sha256', cookie).update('sluice csrf token 1').digest('base64url');
}

/** Throws 403 unless the request carries the token of its session. */
export function checkCsrfToken(request: HttpRequest, cookie: string): void {
  if (equalSecrets(request.header('x-csrf-token') ?? '', csrfTokenOf(cookie))) return;
  throw csrfRefused('The header X-CSRF-Token does not belong to this session');
}

/**
 * Throws when a page of another origin sends a change. Such a page can't send JSON without a preflight, which is never
 * granted, and browsers name the origin: by Sec-Fetch-Site, old ones by Origin. Clients that send neither are not
 * browsers, and have nobody's cookies. The host has been checked before: by the certificate, or without TLS by its
 * name.
 * @param publicUrl the public address of the process, if configured
 */
export function checkSameOrigin(request: HttpRequest, publicUrl: string | undefined): void {
  const site = request.header('sec-fetch-site');
  const origin = request.header('origin');
  const same =
    site !== undefined ? site === 'same-origin' : origin === undefined || isOwn(origin, request, publicUrl);
  if (!same) throw csrfRefused('Changes are only accepted from pages of the same origin');
  const type = request.header('content-type')?.split(';')[0]?.trim().toLowerCase();
  if (request.method === 'POST' && type !== 'application/json') throw wrongContentType('application/json');
}

function isOwn(origin: string, request: HttpRequest, publicUrl: string | undefined): boolean {
  if (publicUrl !== undefined && origin === new URL(publicUrl).origin) return true;
  return URL.canParse(origin) && new URL(origin).host === request.header('host')?.toLowerCase();
}
