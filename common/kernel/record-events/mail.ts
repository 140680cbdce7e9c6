/** Why a mail is sent. `haveAccount`: somebody signed up with an address that has an account. */
export const mailPurposes = ['verifyEmail', 'resetPassword', 'haveAccount'] as const;
export type MailPurpose = (typeof mailPurposes)[number];

/** A mail that a request promised. It holds nothing secret, as it is stored until it is sent. */
export interface PromisedMail {
  readonly purpose: MailPurpose;
  readonly ownerId: string;
  /** Id of the records of the users. */
  readonly spaceId: string;
  readonly project: string;
  readonly space: string;
  /** As the request named it: there may be no such user. */
  readonly address: string;
  /** The webhook to call; null: the mail is sent by SMTP. */
  readonly webhook: string | null;
}

/** A mail just before it is sent. */
export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** Null: the application has no page for it. */
  readonly link: string | null;
  readonly code: string;
}

/** Makes a mail for an attempt to send it. A text is the reason why it is not sent at all. */
export type MakeMail = (promised: PromisedMail, signal: AbortSignal) => Promise<Mail | string>;

/** Counts a mail that is sent again. Throws 429. */
export type AdmitMail = (promised: PromisedMail) => Promise<void>;

export interface Mails {
  /** Whether mails can be sent without a webhook. */
  readonly hasSmtp: boolean;
  /** Resolves when the promise is durable: only then may it be acknowledged. */
  promise(mail: PromisedMail): Promise<void>;
  /** Registers the maker of mails, and their limits. Called once, before the first promise. */
  makeMails(make: MakeMail, admit: AdmitMail): void;
}
