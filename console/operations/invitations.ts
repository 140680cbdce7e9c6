import type { AccountLink } from '#catalogue/account-links.ts';
import { invalidBody, membershipRefused, notFound } from '#kernel/errors/catalogue.ts';
import { readEmail, readFields, readLinkToken } from '../accounts/credentials.ts';
import { assertCovers } from '../accounts/memberships.ts';
import {
  type ConsoleHandler,
  emptyAnswer,
  jsonAnswer,
  type ManagerHandler,
  originOf,
  type SessionHandler,
  sessionAnswer,
} from './console-call.ts';
import { readTerms } from './members.ts';

/** GET /_console_/api/invitations: the open invitations of the account. */
export const listInvitations: ManagerHandler = async ({ request, acting }, { invitations }) => {
  const open = await invitations.list(acting.account.id, request.signal);
  return jsonAnswer(200, { invitations: open.map(invitationJson) });
};

/** POST /_console_/api/invitations: an invitation, whose token only this answer and the mail contain. */
export const createInvitation: ManagerHandler = async (
  { request, session, acting, body },
  { invitations },
) => {
  const fields = readFields(await body());
  const problems: string[] = [];
  const email = readEmail(fields, problems);
  const terms = readTerms(fields, problems);
  if (problems.length > 0) throw invalidBody(problems);
  assertCovers(acting, terms.grants, 'The grant');
  const { account } = acting;
  const made = await invitations.create(account, { email, ...terms }, session.account, request.signal);
  return jsonAnswer(201, { token: made.token, isSent: made.isSent, ...invitationJson(made.link) });
};

/** DELETE /_console_/api/invitations/{id} */
export const withdrawInvitation: ManagerHandler = async ({ request, acting }, { invitations }) => {
  const { id = '' } = request.params;
  const link = await invitations.find(id, acting.account.id, request.signal);
  if (link === null) throw notFound('There is no such invitation');
  assertCovers(acting, link.grants, 'The invitation');
  if (await invitations.withdraw(link)) return emptyAnswer();
  throw membershipRefused('The invitation was accepted in the meantime: remove the member instead');
};

/** POST /_console_/api/invitation: what an invitation says, for the page that accepts it. */
export const readInvitation: ConsoleHandler = async ({ request, body }, { invitations }) => {
  const { link, account } = await invitations.read(readLinkToken(await body()), request.signal);
  const { email, grants, manages, expiresAt } = link;
  const from = { email: account.email, name: account.name };
  return jsonAnswer(200, {
    email,
    grants: grants ?? null,
    manages,
    expiresAt: expiresAt.toISOString(),
    account: from,
  });
};

/** POST /_console_/api/invitation/accept: makes the user a member. The session then acts for the account. */
export const acceptInvitation: SessionHandler = async ({ request, session, body }, deps) => {
  const { invitations, sessions } = deps;
  const member = await invitations.accept(readLinkToken(await body()), session.account, request.signal);
  await sessions.end(session);
  const begun = await sessions.start(session.account, originOf(request), member.accountId);
  return sessionAnswer(200, begun, deps, request);
};

function invitationJson({ id, email, grants, manages, createdAt, expiresAt }: AccountLink) {
  const times = { createdAt: createdAt.toISOString(), expiresAt: expiresAt.toISOString() };
  return { id, email, grants: grants ?? null, manages, ...times };
}
