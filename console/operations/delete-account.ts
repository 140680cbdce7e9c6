import { invalidBody, wrongPassword } from '#kernel/errors/catalogue.ts';
import { readAddressAndPassword } from '../accounts/credentials.ts';
import { emptyAnswer, type SessionHandler } from './console-call.ts';

/**
 * POST /_console_/api/account/delete: the user's own account with everything in it, whichever account the session acts for.
 * From the answer on it is refused everywhere within a second; the rest is removed in the background.
 */
export const deleteAccount: SessionHandler = async ({ request, session, sender, body }, deps) => {
  const { passwords, closed, cookie } = deps;
  const { email, password } = readAddressAndPassword(await body());
  const { account } = session;
  if (email !== account.email) throw invalidBody('email should be the address of your account');
  const checked = await passwords.check({ email, password }, sender, request.signal);
  if (checked === null || checked.id !== account.id) throw wrongPassword();
  await closed.delete(account.id);
  return emptyAnswer({ 'set-cookie': cookie.clear(request) });
};
