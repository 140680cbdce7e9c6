import { callConsole } from '../session.ts';

export interface AccessToken {
  readonly id: string;
  readonly name: string;
  readonly createdAt: string;
  readonly lastUsedAt: string | null;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
  readonly readMaxRows: number | null;
  readonly readTimeoutMs: number | null;
}

export interface NewToken extends AccessToken {
  /** Shown once: the server keeps its hash alone. */
  readonly token: string;
}

export async function listTokens(signal: AbortSignal): Promise<readonly AccessToken[]> {
  const { tokens } = await callConsole<{ tokens: AccessToken[] }>('/tokens', { signal });
  return tokens;
}

/** ISO 8601; null for never. Null for limits: those of the server. */
export type OrderedToken = Pick<AccessToken, 'name' | 'expiresAt' | 'readMaxRows' | 'readTimeoutMs'>;

export function createToken(body: OrderedToken, signal: AbortSignal): Promise<NewToken> {
  return callConsole('/tokens', { method: 'POST', json: body, signal });
}

export async function revokeToken(id: string): Promise<void> {
  await callConsole(`/tokens/${encodeURIComponent(id)}`, { method: 'DELETE' });
}

export type TokenState = 'active' | 'expired' | 'revoked';

export function tokenState({ revokedAt, expiresAt }: AccessToken, now = Date.now()): TokenState {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && Date.parse(expiresAt) <= now ? 'expired' : 'active';
}
