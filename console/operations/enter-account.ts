import { invalidBody, notFound } from '#kernel/errors/catalogue.ts';
import { readFields } from '../accounts/credentials.ts';
import { originOf, type SessionHandler, sessionAnswer } from './console-call.ts';

/**
 * POST /_console_/api/enter: acts for another account, in a new session. The old one ends, so that a page which still shows
 * the other account can't change the wrong one.
 */
export const enterAccount: SessionHandler = async ({ request, session, body }, deps) => {
  const { account } = readFields(await body());
  if (typeof account !== 'string') throw invalidBody('account should be the id of an account');
  const { members, users, sessions } = deps;
  const user = session.account;
  const isMember = async (): Promise<boolean> =>
    (await members.find(account, user.id, request.signal)) !== null &&
    (await users.findById(account, request.signal)) !== null;
  if (account !== user.id && !(await isMember())) throw notFound('There is no such account');
  await sessions.end(session);
  return sessionAnswer(200, await sessions.start(user, originOf(request), account), deps, request);
};
