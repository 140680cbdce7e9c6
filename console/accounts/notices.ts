/** A link that a person should get. */
export interface Notice {
  readonly kind: 'invitation' | 'email';
  /** The person's e-mail address. */
  readonly to: string;
  /** With the token: never log it. */
  readonly link: string;
  readonly expiresAt: Date;
  /** The address of the account that it is about. */
  readonly account: string;
}

/** Hands links over to a mailer. Rejects if the mailer did not take it. */
export type SendNotice = (notice: Notice) => Promise<void>;
