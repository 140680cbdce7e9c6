import type { AccessToken, AccessTokens } from '#auth/access-tokens.ts';
import type { Acting } from '#auth/session-store.ts';
import type { TokenCheck } from '#auth/token-check.ts';
import type { Member, Members } from '#catalogue/members.ts';
import { membershipRefused, notFound, unavailable } from '#kernel/errors/catalogue.ts';
import { covers, type Grants } from '#kernel/grants.ts';

interface MembershipsDeps {
  readonly members: Members;
  readonly tokens: Pick<AccessTokens, 'madeBy' | 'revoke'>;
  readonly tokenCheck: Pick<TokenCheck, 'invalidate'>;
}

/** Throws 403 unless the grants are within those of the member who gives them. */
export function assertCovers(acting: Acting, grants: Grants | undefined, what: string): void {
  if (!covers(acting.grants, grants))
    throw membershipRefused(`${what} exceeds what you may do in this account`);
}

/** Changes and ends memberships, with the access tokens that members made. */
export class Memberships {
  readonly #deps: MembershipsDeps;

  constructor(deps: MembershipsDeps) {
    this.#deps = deps;
  }

  /** A member whom the manager may change. Throws 404 and 403. @param manager the id of the user */
  async changeable(acting: Acting, manager: string, userId: string, signal: AbortSignal): Promise<Member> {
    const member = await this.#deps.members.find(acting.account.id, userId, signal);
    if (member === null) throw notFound('There is no such member');
    if (userId === manager) throw membershipRefused('Nobody changes his own membership: ask another manager');
    assertCovers(acting, member.grants, 'This member');
    return member;
  }

  /** Tokens that the member made and that exceed the new grants are revoked. */
  async change(
    member: Member,
    terms: { readonly grants: Grants | undefined; readonly manages: boolean },
  ): Promise<void> {
    const { grants: _, ...rest } = member;
    const { grants, manages } = terms;
    await this.#store({ ...rest, manages, ...(grants && { grants }), version: member.version + 1 });
    await this.#revoke(member, (token) => !covers(grants, token.grants));
  }

  /** Ends a membership, and the tokens of the account that the member made. */
  async end(member: Member): Promise<void> {
    await this.#store({ ...member, hasLeft: true, version: member.version + 1 });
    await this.#revoke(member, () => true);
  }

  /** Revokes every token that a user made in accounts of others. */
  async revokeTokensOf(userId: string): Promise<void> {
    await this.#revokeAll(
      (await this.#deps.tokens.madeBy(userId)).filter((token) => token.userId !== userId),
    );
  }

  async #store(member: Member): Promise<void> {
    if (await this.#deps.members.store(member)) return;
    throw membershipRefused('The membership changed in the meantime: load the page again');
  }

  async #revoke({ accountId, userId }: Member, ends: (token: AccessToken) => boolean): Promise<void> {
    const made = await this.#deps.tokens.madeBy(userId);
    await this.#revokeAll(made.filter((token) => token.userId === accountId && ends(token)));
  }

  async #revokeAll(tokens: readonly AccessToken[]): Promise<void> {
    const { tokens: store, tokenCheck } = this.#deps;
    let isHeard = true;
    for (const token of tokens) {
      if (token.revokedAt === null) await store.revoke(token);
      isHeard = (await tokenCheck.invalidate(token.hash)) && isHeard;
    }
    if (!isHeard)
      throw unavailable(
        'It is done, but Redis did not answer: processes that do reach it may accept tokens of the member for up to 70 seconds',
      );
  }
}
