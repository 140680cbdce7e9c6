import { OidcFailure } from '#auth/oidc-clients.ts';
import type { Account } from '#catalogue/users.ts';
import { notFound } from '#kernel/errors/catalogue.ts';
import type { HttpResponse } from '#server/http/http-types.ts';
import type { LoginProofs } from '../sessions/login-proofs.ts';
import type { OpenSession } from '../sessions/sessions.ts';
import {
  type ConsoleCall,
  type ConsoleDeps,
  type ConsoleHandler,
  originOf,
  redirectAnswer,
  type SessionHandler,
} from './console-call.ts';

/** Who came back from the provider, with an address that it verified. */
interface Person {
  readonly email: string;
  readonly name: string;
}

/** GET /_console_/api/oidc/start: sends the browser to the provider. */
export const beginOidc: ConsoleHandler = ({ request }, deps) => begin(request, deps, null);

/** GET /_console_/api/oidc/confirm: the same, to confirm the user of the session. */
export const confirmByOidc: SessionHandler = ({ request, session }, deps) => begin(request, deps, session);

async function begin(
  request: ConsoleCall['request'],
  { oidc }: ConsoleDeps,
  confirms: OpenSession | null,
): Promise<HttpResponse> {
  if (oidc === null) throw notFound('The server has no provider of OpenID Connect');
  const { location, cookie } = await oidc.begin(request, confirms);
  return redirectAnswer(location, { 'set-cookie': cookie });
}

/** GET /_console_/api/oidc/callback. Begins a new session, whatever cookie was sent, or confirms the user of one. */
export const finishOidc: ConsoleHandler = async (call, deps) => {
  const { oidc } = deps;
  if (oidc === null) throw notFound('The server has no provider of OpenID Connect');
  const login = await oidc.returned(call.request);
  const { confirms } = login;
  const path = confirms === undefined ? '/_console_/login' : '/_console_/account';
  try {
    const { email, name = '' } = await oidc.finish(call.request, login);
    // an address that the provider did not verify may be somebody else's
    if (email === undefined) return redirectAnswer(`${path}?oidc=email_not_verified`);
    const person = { email, name };
    return await (confirms === undefined
      ? beginSession(call, deps, person)
      : proveUser(call, { users: deps.users, proofs: oidc.proofs }, person, confirms));
  } catch (error) {
    if (error instanceof OidcFailure) return redirectAnswer(`${path}?oidc=${error.problem}`);
    throw error;
  }
};

async function beginSession(
  { request, session }: ConsoleCall,
  deps: ConsoleDeps,
  person: Person,
): Promise<HttpResponse> {
  const { sessions, cookie } = deps;
  const account = await accountOf(deps, person, request.signal);
  if (account === null) return redirectAnswer('/_console_/login?oidc=no_account');
  if (session !== null) await sessions.end(session);
  const { cookie: value } = await sessions.start(account, originOf(request));
  return redirectAnswer('/_console_/', { 'set-cookie': cookie.set(request, value) });
}

/** @param hash of the session that began the login */
async function proveUser(
  { request, session }: ConsoleCall,
  { users, proofs }: Pick<ConsoleDeps, 'users'> & { readonly proofs: LoginProofs },
  { email }: Person,
  hash: string,
): Promise<HttpResponse> {
  const account = await users.findByEmail(email, request.signal);
  const isUser = session !== null && session.session.hash === hash && session.account.id === account?.id;
  if (!isUser) return redirectAnswer('/_console_/account?oidc=other_account');
  const proof = await proofs.make(request, session);
  return redirectAnswer('/_console_/account?oidc=confirmed', { 'set-cookie': proof });
}

/** Null: there is none, and not everybody may register. */
async function accountOf(
  { users, mode }: ConsoleDeps,
  { email, name }: Person,
  signal: AbortSignal,
): Promise<Account | null> {
  const found = await users.findByEmail(email, signal);
  if (found !== null || mode !== 'open') return found;
  await users.create({ email, name: name.slice(0, 100) || email });
  return users.findByEmail(email, signal);
}
