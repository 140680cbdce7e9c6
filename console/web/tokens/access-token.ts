import type { Grants } from '#kernel/grants.ts';

export interface AccessToken {
  readonly id: string;
  readonly name: string;
  readonly createdAt: string;
  readonly lastUsedAt: string | null;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
  readonly readMaxRows: number | null;
  readonly readTimeoutMs: number | null;
  /** Null: everything. */
  readonly grants: Grants | null;
  /** The member who made it; null: the owner. */
  readonly madeBy: string | null;
}

export interface NewToken extends AccessToken {
  /** Shown once: the server only keeps its hash. */
  readonly token: string;
}

export type TokenState = 'active' | 'expired' | 'revoked';

export function tokenState({ revokedAt, expiresAt }: AccessToken, now = Date.now()): TokenState {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && Date.parse(expiresAt) <= now ? 'expired' : 'active';
}
