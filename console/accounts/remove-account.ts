import type { AccessTokens } from '#auth/access-tokens.ts';
import type { SessionStore } from '#auth/session-store.ts';
import type { AccountLinks } from '#catalogue/account-links.ts';
import type { RemovePart } from '#catalogue/account-removals.ts';
import type { ClosedAccounts } from '#catalogue/closed-accounts.ts';
import type { Members } from '#catalogue/members.ts';
import type { UsageCounts } from '#catalogue/usage-counts.ts';
import type { Users } from '#catalogue/users.ts';
import type { Memberships } from './memberships.ts';

interface RemoveAccountDeps {
  readonly users: Users;
  readonly members: Members;
  readonly memberships: Memberships;
  readonly accountLinks: AccountLinks;
  readonly closed: ClosedAccounts;
  readonly tokens: AccessTokens;
  readonly sessions: SessionStore;
  readonly usage: Pick<UsageCounts, 'removeAll'>;
}

/**
 * Removes what the dashboard owns of a deleted account. The first pass frees its address, and ends its memberships. Tokens
 * and sessions stay until the last pass: they are refused, and requests under way still note their uses.
 */
export function removeAccount(deps: RemoveAccountDeps): RemovePart {
  const { users, members, memberships, accountLinks: links, closed, tokens, sessions, usage } = deps;
  return async (id, signal, isLast) => {
    await memberships.revokeTokensOf(id);
    await members.removeAll(id, signal);
    await links.removeAll(id, signal);
    // the ids are closed first: after a kill the next pass finds the rows, and nobody else gets the ids
    const reserved = await users.reservedFor(id, signal);
    for (const reservation of reserved) await closed.giveBack(reservation);
    await users.remove([id, ...reserved], signal);
    if (!isLast) return;
    await tokens.removeAll(id, signal);
    await sessions.removeAll(id, signal);
    await usage.removeAll(id, signal);
  };
}
