import type { Account } from '#catalogue/users.ts';
import { wrongPassword } from '#kernel/errors/catalogue.ts';
import type { OpenSession } from '../sessions/sessions.ts';
import type { ConsoleCall, ConsoleDeps } from './console-call.ts';

/**
 * The account of the session, once its user is confirmed: by the password, or without one by a login at the provider within
 * the last five minutes. Throws otherwise.
 */
export async function confirmUser(
  { request, session, sender }: ConsoleCall<OpenSession>,
  { passwords, oidc }: Pick<ConsoleDeps, 'passwords' | 'oidc'>,
  password: string,
): Promise<Account> {
  const { account } = session;
  if (account.passwordHash === '') {
    if (oidc !== null && (await oidc.proofs.has(request, session))) return account;
    throw wrongPassword('The account has no password: log in at the provider again to confirm it');
  }
  const checked = await passwords.check({ email: account.email, password }, sender, request.signal);
  if (checked === null || checked.id !== account.id) throw wrongPassword();
  return checked;
}
