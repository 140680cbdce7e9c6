import type { Grants } from '#kernel/grants.ts';
import type { Account } from '../session.ts';

export interface MemberTerms {
  /** Null: everything. */
  readonly grants: Grants | null;
  readonly manages: boolean;
}

export interface Member extends Account, MemberTerms {
  readonly joinedAt: string;
  readonly isYou: boolean;
}

export interface Invitation extends MemberTerms {
  readonly id: string;
  readonly email: string;
  readonly createdAt: string;
  readonly expiresAt: string;
}

export interface NewInvitation extends Invitation {
  /** Shown once: the server only keeps its hash. */
  readonly token: string;
  /** Whether a mail was sent. */
  readonly isSent: boolean;
}
