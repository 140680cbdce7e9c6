import type { AccessToken } from '#auth/access-tokens.ts';
import { jsonAnswer, type SessionHandler } from './console-call.ts';

/** How long expired and revoked tokens are listed. Milliseconds. */
const endedShownFor = 90 * 24 * 3_600_000;
const mostShown = 1000;

/** GET /_console_/api/tokens: the access tokens of the account, newest first. */
export const listTokens: SessionHandler = async ({ request, session }, { tokens }) => {
  const oldestEnd = Date.now() - endedShownFor;
  const all = await tokens.list(session.account.id);
  const shown = all.filter((token) => endOf(token) > oldestEnd).slice(-mostShown);
  const uses = await tokens.lastUses(shown, request.signal);
  return jsonAnswer(200, {
    tokens: shown.toReversed().map((token) => tokenJson(token, uses.get(token.hash) ?? null)),
  });
};

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
