import { hashToken } from '#auth/access-tokens.ts';
import { isOfKind, isSealed, sealedToken } from '#auth/sealed-token.ts';
import type { AccountLink, AccountLinks } from '#catalogue/account-links.ts';
import type { Deployment } from '#catalogue/deployment.ts';
import type { Member, Members } from '#catalogue/members.ts';
import type { Account, Users } from '#catalogue/users.ts';
import {
  invalidBody,
  linkRefused,
  membershipRefused,
  quotaExceeded,
  rateLimited,
} from '#kernel/errors/catalogue.ts';
import { covers, type Grants } from '#kernel/grants.ts';
import { KeyedLock } from '#kernel/limits/keyed-lock.ts';
import type { SendNotice } from './notices.ts';

/** Milliseconds. */
export const invitationLifetime = 7 * 24 * 3_600_000;
/** Most open invitations, and members, of an account. */
export const invitationsPerAccount = 50;
export const membersPerAccount = 200;
/** Most invitations that an account makes in an hour, as each may be a mail to an address that anybody chose. */
export const invitationsPerHour = 100;
const hour = 3_600_000;

export interface InvitationTerms {
  readonly email: string;
  readonly grants: Grants | undefined;
  readonly manages: boolean;
}

interface InvitationsDeps {
  readonly links: AccountLinks;
  readonly members: Members;
  readonly users: Pick<Users, 'findById'>;
  readonly deployment: Pick<Deployment, 'secret'>;
  /** Undefined: there is no mailer. */
  readonly send: SendNotice | undefined;
  /** The address of the page that accepts a token. */
  readonly linkOf: (token: string) => string;
  readonly now?: () => Date;
}

/**
 * Invitations to an account: links for one address and one use. A link is accepted or withdrawn, never both, in whichever
 * processes that happens (docs/decisions/077-members-and-deleted-accounts.md).
 */
export class Invitations {
  readonly #deps: InvitationsDeps;
  readonly #now: () => Date;
  readonly #lock = new KeyedLock();

  constructor(deps: InvitationsDeps) {
    this.#deps = deps;
    this.#now = deps.now ?? (() => new Date());
  }

  /** The token of the link is in the answer and nowhere else. */
  async create(
    account: Account,
    terms: InvitationTerms,
    madeBy: Account,
    signal: AbortSignal,
  ): Promise<{ readonly token: string; readonly link: AccountLink; readonly isSent: boolean }> {
    if (terms.email === account.email) throw invalidBody('email is the address of the owner of the account');
    const token = sealedToken(this.#deps.deployment.secret, 'link');
    const create = async (): Promise<AccountLink> => {
      const { links, members } = this.#deps;
      const open = await links.open('invitation', account.id, this.#now(), signal);
      if (open.length >= invitationsPerAccount)
        throw quotaExceeded(`${invitationsPerAccount} open invitations`);
      if ((await members.ofAccount(account.id, signal)).length >= membersPerAccount)
        throw quotaExceeded(`${membersPerAccount} members`);
      const since = new Date(this.#now().getTime() - hour);
      if ((await links.madeSince('invitation', account.id, since, signal)) >= invitationsPerHour)
        throw rateLimited(hour / invitationsPerHour);
      return links.create({
        ...terms,
        kind: 'invitation',
        hash: hashToken(token),
        accountId: account.id,
        madeBy: madeBy.id,
        expiresAt: new Date(this.#now().getTime() + invitationLifetime),
      });
    };
    const link = await this.#lock.run(account.id, create, signal);
    return { token, link, isSent: await this.#send(link, account, token) };
  }

  list(accountId: string, signal: AbortSignal): Promise<readonly AccountLink[]> {
    return this.#deps.links.open('invitation', accountId, this.#now(), signal);
  }

  /** An open invitation of the account; null: there is none with this id. */
  async find(id: string, accountId: string, signal: AbortSignal): Promise<AccountLink | null> {
    const link = await this.#deps.links.findById(id, signal);
    const isOpen = link?.state === 'open' && link.expiresAt > this.#now();
    return isOpen && link.kind === 'invitation' && link.accountId === accountId ? link : null;
  }

  /** False: it was accepted or withdrawn in the meantime. */
  withdraw(link: AccountLink): Promise<boolean> {
    return this.#deps.links.end(link, 'withdrawn');
  }

  /** An open invitation with its account. Throws 403 for any other token, without a reason. */
  async read(
    token: string,
    signal: AbortSignal,
  ): Promise<{ readonly link: AccountLink; readonly account: Account }> {
    const link = await this.#linkOf(token, signal);
    if (link.state !== 'open' || link.expiresAt <= this.#now()) throw linkRefused();
    const account = await this.#deps.users.findById(link.accountId, signal);
    if (account === null) throw linkRefused();
    return { link, account };
  }

  /**
   * Makes a user a member. Repeating it is harmless, and completes what was interrupted. Throws 403 unless the invitation is
   * open, for the address of this user, and its maker still may invite with these grants.
   */
  async accept(token: string, user: Account, signal: AbortSignal): Promise<Member> {
    const { links } = this.#deps;
    const link = await this.#linkOf(token, signal);
    if (link.email !== user.email || link.accountId === user.id)
      throw linkRefused('The invitation is for another e-mail address than that of your account');
    const isMine = link.state === 'used' && link.usedBy === user.id;
    if (!isMine) {
      await this.read(token, signal);
      if (!(await this.#mayInvite(link, signal))) throw linkRefused();
      if (!(await links.end(link, 'used', user.id))) {
        const after = await links.findById(link.id, signal);
        if (after?.state !== 'used' || after.usedBy !== user.id) throw linkRefused();
      }
    }
    return this.#join(link, user, signal);
  }

  /** Whether its maker is still the owner, or a manager with these grants. */
  async #mayInvite({ accountId, madeBy, grants }: AccountLink, signal: AbortSignal): Promise<boolean> {
    if (madeBy === accountId) return true;
    const maker = await this.#deps.members.find(accountId, madeBy, signal);
    return maker?.manages === true && covers(maker.grants, grants);
  }

  /** An invitation makes a member once: one who was removed since then does not come back with it. */
  async #join(link: AccountLink, user: Account, signal: AbortSignal): Promise<Member> {
    const { members } = this.#deps;
    const { accountId, grants, manages, id: invitation } = link;
    const before = await members.findAny(accountId, user.id, signal);
    if (before?.invitation === invitation) {
      if (before.hasLeft) throw linkRefused();
      return before;
    }
    const member: Member = {
      accountId,
      userId: user.id,
      ...(grants && { grants }),
      manages,
      invitation,
      hasLeft: false,
      createdAt: this.#now(),
      version: (before?.version ?? -1) + 1,
    };
    if (await members.store(member)) return member;
    const after = await members.find(accountId, user.id, signal);
    if (after?.invitation === invitation) return after;
    throw membershipRefused('The membership changed in the meantime: ask for another invitation');
  }

  async #linkOf(token: string, signal: AbortSignal): Promise<AccountLink> {
    // made-up tokens cost no look-up
    const { deployment, links } = this.#deps;
    const isGenuine = isOfKind(token, 'link') && isSealed(token, deployment.secret);
    const link = isGenuine ? await links.findByHash(hashToken(token), signal) : null;
    if (link === null || link.kind !== 'invitation') throw linkRefused();
    return link;
  }

  async #send({ email, expiresAt }: AccountLink, account: Account, token: string): Promise<boolean> {
    const { send, linkOf } = this.#deps;
    if (send === undefined) return false;
    // the page shows the link, too
    return send({
      kind: 'invitation',
      to: email,
      link: linkOf(token),
      expiresAt,
      account: account.email,
    }).then(
      () => true,
      () => false,
    );
  }
}
