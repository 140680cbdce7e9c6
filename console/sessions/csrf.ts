import { createHmac, timingSafeEqual } from 'node:crypto';
import { csrfRefused, wrongContentType } from '#kernel/errors/catalogue.ts';
import type { HttpRequest } from '#server/http/http-types.ts';

/** A CSRF token derived from the session's cookie: other origins know neither. Nothing is stored. */
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
 * nothing, and have no cookies of anybody. That the host is ours is known here: by the certificate, or without TLS by its name.
 * @param publicUrl where clients see the process, if that is configured
 */
export function checkSameOrigin(request: HttpRequest, publicUrl: string | undefined): void {
  const site = request.header('sec-fetch-site');
  const origin = request.header('origin');
  const same =
    site !== undefined ? site === 'same-origin' : origin === undefined || isOwn(origin, request, publicUrl);
  if (!same) throw csrfRefused('A change is only taken from a page of the same origin');
  const type = request.header('content-type')?.split(';')[0]?.trim().toLowerCase();
  if (request.method === 'POST' && type !== 'application/json') throw wrongContentType('application/json');
}

function isOwn(origin: string, request: HttpRequest, publicUrl: string | undefined): boolean {
  if (publicUrl !== undefined && origin === new URL(publicUrl).origin) return true;
  return URL.canParse(origin) && new URL(origin).host === request.header('host')?.toLowerCase();
}
