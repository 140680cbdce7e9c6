import type { Member } from '#catalogue/members.ts';
import { invalidBody, membershipRefused } from '#kernel/errors/catalogue.ts';
import { type Grants, readGrants } from '#kernel/grants.ts';
import { readFields } from '../accounts/credentials.ts';
import { assertCovers } from '../accounts/memberships.ts';
import { emptyAnswer, jsonAnswer, type ManagerHandler, type SessionHandler } from './console-call.ts';

export interface MemberTerms {
  readonly grants: Grants | undefined;
  readonly manages: boolean;
}

/** Reads what a member may do. Problems are added to the list. */
export function readTerms(fields: Readonly<Record<string, unknown>>, problems: string[]): MemberTerms {
  const { manages = false } = fields;
  const grants = readGrants(fields.grants, problems);
  if (typeof manages !== 'boolean') problems.push('manages should be true or false');
  if (grants?.publishable) problems.push('grants of a member have no origins');
  return { grants, manages: manages === true };
}

/** GET /_console_/api/members: the owner, and the members of the account. */
export const listMembers: ManagerHandler = async ({ request, session, acting }, { members, users }) => {
  const { signal } = request;
  const all = await members.ofAccount(acting.account.id, signal);
  const people = await Promise.all(all.map(({ userId }) => users.findById(userId, signal)));
  const owner = acting.account;
  return jsonAnswer(200, {
    owner: { id: owner.id, email: owner.email, name: owner.name },
    members: all.flatMap((member, index) => {
      const user = people[index];
      // a deleted user is no member any more
      if (user == null) return [];
      const { id, email, name } = user;
      return [{ id, email, name, ...termsJson(member), isYou: id === session.account.id }];
    }),
  });
};

function termsJson({ grants, manages, createdAt }: Pick<Member, 'grants' | 'manages' | 'createdAt'>) {
  return { grants: grants ?? null, manages, joinedAt: createdAt.toISOString() };
}

/** POST /_console_/api/members/{id}: other grants. They take effect at once, also for tokens that the member made. */
export const changeMember: ManagerHandler = async ({ request, session, acting, body }, { memberships }) => {
  const problems: string[] = [];
  const terms = readTerms(readFields(await body()), problems);
  if (problems.length > 0) throw invalidBody(problems);
  const { id = '' } = request.params;
  const member = await memberships.changeable(acting, session.account.id, id, request.signal);
  assertCovers(acting, terms.grants, 'The grant');
  await memberships.change(member, terms);
  return emptyAnswer();
};

/** DELETE /_console_/api/members/{id} */
export const removeMember: ManagerHandler = async ({ request, session, acting }, { memberships }) => {
  const { id = '' } = request.params;
  await memberships.end(await memberships.changeable(acting, session.account.id, id, request.signal));
  return emptyAnswer();
};

/** POST /_console_/api/leave: ends the user's membership of the account that the session acts for. */
export const leaveAccount: SessionHandler = async ({ request, session }, { members, memberships }) => {
  const { account, acting } = session;
  if (acting === null) return emptyAnswer();
  if (acting.account.id === account.id)
    throw membershipRefused('The owner cannot leave the account: it would have nobody. Delete it instead');
  const member = await members.find(acting.account.id, account.id, request.signal);
  if (member !== null) await memberships.end(member);
  return emptyAnswer();
};
