import { invalidBody } from '#kernel/errors/catalogue.ts';
import { readAddressAndPassword } from '../accounts/credentials.ts';
import { confirmUser } from './confirm-user.ts';
import { emptyAnswer, type SessionHandler } from './console-call.ts';

/**
 * POST /_console_/api/account/delete: the user's own account with everything in it, whichever account the session acts for.
 * From the answer on it is refused everywhere within a second; the rest is removed in the background.
 */
export const deleteAccount: SessionHandler = async (call, deps) => {
  const { closed, cookie } = deps;
  const { email, password } = readAddressAndPassword(await call.body());
  const { account } = call.session;
  if (email !== account.email) throw invalidBody('email should be the address of your account');
  await confirmUser(call, deps, password);
  await closed.delete(account.id);
  return emptyAnswer({ 'set-cookie': cookie.clear(call.request) });
};
