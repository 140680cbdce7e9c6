import { wrongPassword } from '#kernel/errors/catalogue.ts';
import { readPasswordChange } from '../accounts/credentials.ts';
import { emptyAnswer, originOf, type SessionHandler } from './console-call.ts';

/**
 * POST /_console_/api/password: ends all sessions of the account and their access tokens, and links that confirm another
 * address. The current session gets a new cookie.
 */
export const changePassword: SessionHandler = async ({ request, session, sender, body }, deps) => {
  const { passwords, addressChanges, sessions, cookie } = deps;
  const { current, next } = readPasswordChange(await body());
  const { email } = session.account;
  const account = await passwords.check({ email, password: current }, sender, request.signal);
  if (account === null || account.id !== session.account.id) throw wrongPassword();
  const changed = await passwords.change(account, next, sender, request.signal);
  if (changed === null) throw wrongPassword();
  await addressChanges.withdraw(changed, request.signal);
  const begun = await sessions.start(changed, originOf(request), session.session.accountId);
  return emptyAnswer({ 'set-cookie': cookie.set(request, begun.cookie) });
};
