import { wrongPassword } from '#kernel/errors/catalogue.ts';
import { readPasswordChange } from '../accounts/credentials.ts';
import { confirmUser } from './confirm-user.ts';
import { emptyAnswer, originOf, type SessionHandler } from './console-call.ts';

/**
 * POST /_console_/api/password: changes the password, or sets the first one. Ends all sessions of the account and their
 * access tokens, and links that confirm another address. The current session gets a new cookie.
 */
export const changePassword: SessionHandler = async (call, deps) => {
  const { request, session, sender } = call;
  const { passwords, addressChanges, sessions, cookie } = deps;
  const { current, next } = readPasswordChange(await call.body());
  const account = await confirmUser(call, deps, current);
  const changed = await passwords.change(account, next, sender, request.signal);
  if (changed === null) throw wrongPassword();
  await addressChanges.withdraw(changed, request.signal);
  const begun = await sessions.start(changed, originOf(request), session.session.accountId);
  return emptyAnswer({ 'set-cookie': cookie.set(request, begun.cookie) });
};
