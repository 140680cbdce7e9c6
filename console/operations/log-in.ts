import { unauthorized } from '#kernel/errors/catalogue.ts';
import { readLogin } from '../accounts/credentials.ts';
import { type ConsoleHandler, originOf, sessionAnswer } from './console-call.ts';

/** POST /_console_/api/login. Always begins a new session, whatever cookie was sent. */
export const logIn: ConsoleHandler = async ({ request, session, sender, body }, deps) => {
  const account = await deps.passwords.check(readLogin(await body()), sender, request.signal);
  if (account === null) throw unauthorized('The e-mail address or the password is wrong');
  if (session !== null) await deps.sessions.end(session);
  return sessionAnswer(200, await deps.sessions.start(account, originOf(request)), deps, request);
};
