import { emailRefused } from '#kernel/errors/catalogue.ts';
import { readAddressAndPassword, readLinkToken } from '../accounts/credentials.ts';
import { confirmUser } from './confirm-user.ts';
import {
  type ConsoleHandler,
  emptyAnswer,
  jsonAnswer,
  originOf,
  type SessionHandler,
} from './console-call.ts';

/**
 * POST /_console_/api/email: another e-mail address, with the password if there is one. 202: a link was sent to it. 204: it
 * is changed, all sessions end, and this one gets a new cookie.
 */
export const changeEmail: SessionHandler = async (call, deps) => {
  const { request, session } = call;
  const { passwords, addressChanges, sessions, cookie } = deps;
  const { email, password } = readAddressAndPassword(await call.body());
  const account = await confirmUser(call, deps, password);
  // refusals count like wrong passwords: they would reveal which addresses have accounts
  const changed = await passwords.throttled(`address of ${account.id}`, request.signal, () =>
    addressChanges.begin(account, email, request.signal),
  );
  if (changed === null) throw emailRefused();
  if (changed === 'to be confirmed') return jsonAnswer(202, { isSent: true });
  const begun = await sessions.start(changed, originOf(request), session.session.accountId);
  return emptyAnswer({ 'set-cookie': cookie.set(request, begun.cookie) });
};

/** POST /_console_/api/email/confirm: the token of the link. All sessions of the account end. */
export const confirmEmail: ConsoleHandler = async ({ request, body }, { addressChanges }) => {
  await addressChanges.confirm(readLinkToken(await body()), request.signal);
  return emptyAnswer();
};
