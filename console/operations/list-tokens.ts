import type { AccessToken } from '#auth/access-tokens.ts';
import { type ConsoleDeps, jsonAnswer, type ManagerHandler } from './console-call.ts';

/** How long expired and revoked tokens are listed. Milliseconds. */
const endedShownFor = 90 * 24 * 3_600_000;
const mostShown = 1000;

/** GET /_console_/api/tokens: the access tokens of the account, newest first. */
export const listTokens: ManagerHandler = async ({ request, acting }, { tokens, users }) => {
  const oldestEnd = Date.now() - endedShownFor;
  const all = await tokens.list(acting.account.id);
  const shown = all.filter((token) => endOf(token) > oldestEnd).slice(-mostShown);
  const uses = await tokens.lastUses(shown, request.signal);
  const makers = await addressesOf(shown, users);
  return jsonAnswer(200, {
    tokens: shown.toReversed().map((token) => ({
      ...tokenJson(token, uses.get(token.hash) ?? null),
      madeBy: token.madeBy === undefined ? null : (makers.get(token.madeBy) ?? 'a former member'),
    })),
  });
};

/** E-mail addresses of the members who made tokens. */
async function addressesOf(
  tokens: readonly AccessToken[],
  users: Pick<ConsoleDeps['users'], 'findById'>,
): Promise<ReadonlyMap<string, string>> {
  const ids = [...new Set(tokens.flatMap(({ madeBy }) => madeBy ?? []))];
  const found = await Promise.all(ids.map((id) => users.findById(id)));
  return new Map(found.flatMap((user) => (user === null ? [] : [[user.id, user.email]])));
}

export function endOf({ expiresAt, revokedAt }: AccessToken): number {
  return Math.min(...[expiresAt, revokedAt].map((end) => end?.getTime() ?? Number.POSITIVE_INFINITY));
}

export function tokenJson(token: AccessToken, lastUsedAt: Date | null) {
  const { id, name, createdAt, expiresAt, revokedAt, limits, grants } = token;
  return {
    id,
    name,
    createdAt: createdAt.toISOString(),
    lastUsedAt: lastUsedAt?.toISOString() ?? null,
    expiresAt: expiresAt?.toISOString() ?? null,
    revokedAt: revokedAt?.toISOString() ?? null,
    readMaxRows: limits?.maxRows ?? null,
    readTimeoutMs: limits?.timeout ?? null,
    grants: grants ?? null,
  };
}
