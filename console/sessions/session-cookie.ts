import { createHostCookie, type HostCookie } from '#server/http/host-cookie.ts';

/** The longest lifetime of a session, however much it is used. Milliseconds. */
export const longestSession = 30 * 24 * 3_600_000;

export type SessionCookie = HostCookie;

/** The cookie that names a session. @param args.tls whether the process terminates TLS */
export function createSessionCookie({ tls }: { readonly tls: boolean }): SessionCookie {
  return createHostCookie({ name: 'sluice_session', lifetime: longestSession, tls });
}
