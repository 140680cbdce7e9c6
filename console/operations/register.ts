import { readRegistration } from '../accounts/credentials.ts';
import { type ConsoleHandler, sessionAnswer } from './console-call.ts';

/** POST /_console_/api/register: makes an account or, with a claim token, takes over the account of the first start. */
export const register: ConsoleHandler = async ({ request, session, sender, body }, deps) => {
  const { claimToken, ...fields } = readRegistration(await body());
  const { registration, sessions } = deps;
  const account = await (claimToken === null
    ? registration.register(fields, sender, request.signal)
    : registration.claim(fields, claimToken, sender, request.signal));
  if (session !== null) await sessions.end(session);
  return sessionAnswer(201, await sessions.start(account), deps, request);
};
