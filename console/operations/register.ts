import { registrationRefused } from '#kernel/errors/catalogue.ts';
import { readRegistration } from '../accounts/credentials.ts';
import { type ConsoleHandler, originOf, sessionAnswer } from './console-call.ts';

/**
 * POST /_console_/api/register: makes an account or, with a claim token, takes over the account of the first start. With the
 * token of an invitation the person becomes a member at once, also where registration is closed.
 */
export const register: ConsoleHandler = async ({ request, session, sender, body }, deps) => {
  const { claimToken, invitation, ...fields } = readRegistration(await body());
  const { registration, sessions, invitations } = deps;
  const { signal } = request;
  if (invitation !== null) {
    const { link } = await invitations.read(invitation, signal);
    if (link.email !== fields.email) throw registrationRefused();
  }
  const isInvited = invitation !== null;
  const account = await (claimToken === null
    ? registration.register(fields, { sender, isInvited }, signal)
    : registration.claim(fields, claimToken, sender, signal));
  if (session !== null) await sessions.end(session);
  // if it was withdrawn just now, the account still exists
  const joined = isInvited ? await invitations.accept(invitation, account, signal).catch(() => null) : null;
  const begun = await sessions.start(account, originOf(request), joined?.accountId);
  return sessionAnswer(201, begun, deps, request);
};
