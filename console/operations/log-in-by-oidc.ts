import { OidcFailure } from '#auth/oidc-clients.ts';
import type { Account } from '#catalogue/users.ts';
import { notFound } from '#kernel/errors/catalogue.ts';
import type { HttpResponse } from '#server/http/http-types.ts';
import { type ConsoleDeps, type ConsoleHandler, originOf, redirectAnswer } from './console-call.ts';

/** GET /_console_/api/oidc/start: sends the browser to the provider. */
export const beginOidc: ConsoleHandler = async ({ request }, { oidc }) => {
  if (oidc === null) throw notFound('The server has no provider of OpenID Connect');
  const { location, cookie } = await oidc.begin(request);
  return redirectAnswer(location, { 'set-cookie': cookie });
};

/** GET /_console_/api/oidc/callback. Always begins a new session, whatever cookie was sent. */
export const finishOidc: ConsoleHandler = async ({ request, session }, deps) => {
  const { oidc, sessions, cookie } = deps;
  if (oidc === null) throw notFound('The server has no provider of OpenID Connect');
  try {
    const { email, name = '' } = await oidc.finish(request);
    // an address that the provider did not verify may be somebody else's
    if (email === undefined) return failed('email_not_verified');
    const account = await accountOf(deps, { email, name }, request.signal);
    if (account === null) return failed('no_account');
    if (session !== null) await sessions.end(session);
    const { cookie: value } = await sessions.start(account, originOf(request));
    return redirectAnswer('/_console_/', { 'set-cookie': cookie.set(request, value) });
  } catch (error) {
    if (error instanceof OidcFailure) return failed(error.problem);
    throw error;
  }
};

/** Null: there is none, and not everybody may register. */
async function accountOf(
  { users, mode }: ConsoleDeps,
  { email, name }: { readonly email: string; readonly name: string },
  signal: AbortSignal,
): Promise<Account | null> {
  const found = await users.findByEmail(email, signal);
  if (found !== null || mode !== 'open') return found;
  await users.create({ email, name: name.slice(0, 100) || email });
  return users.findByEmail(email, signal);
}

function failed(problem: string): HttpResponse {
  return redirectAnswer(`/_console_/login?oidc=${problem}`);
}
