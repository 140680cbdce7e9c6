import { randomUUID } from 'node:crypto';
import { unavailable } from '#kernel/errors/catalogue.ts';
import type { Log } from '#kernel/log/log.ts';
import { createSendBySmtp, type SmtpOptions } from '#kernel/mail/send-by-smtp.ts';

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

const subjects: Readonly<Record<Notice['kind'], (account: string) => string>> = {
  invitation: (account) => `${account} invites you to an account`,
  email: () => 'Confirm your e-mail address',
};
const openings: Readonly<Record<Notice['kind'], string>> = {
  invitation: 'Open this link to become a member of the account:',
  email: 'Open this link to log in with this address from now on:',
};

/** Sends each link by mail. There is one attempt: the page of an invitation shows its link, and others can be asked for again. */
export function mailNotices(smtp: SmtpOptions, log: Pick<Log, 'warn'>): SendNotice {
  const send = createSendBySmtp(smtp);
  return async ({ kind, to, link, expiresAt, account }) => {
    const until = `It is good once, until ${expiresAt.toISOString().slice(0, 16).replace('T', ' ')} UTC.`;
    const text = `${openings[kind]}\n\n${link}\n\n${until}\n\nIf you did not expect it, you can ignore this e-mail.\n`;
    const mail = {
      id: randomUUID(),
      account,
      to,
      subject: subjects[kind](account),
      text,
      link: null,
      code: '',
    };
    const { delivered, problem } = await send(mail, never);
    if (delivered) return;
    log.warn({ kind, problem }, 'a link was not sent by mail');
    throw unavailable('The mail could not be sent');
  };
}

const { signal: never } = new AbortController();
