import { domainToASCII } from 'node:url';
import type { SendMailOptions } from 'nodemailer';
import type SMTPTransport from 'nodemailer/lib/smtp-transport/index.js';
import { DeadlinePassed, withDeadline } from '#kernel/limits/deadline.ts';
import { FairShare } from '#kernel/limits/fair-share.ts';
import type { Mail } from '#kernel/record-events/mail.ts';

/** Milliseconds for an attempt, and for each step of it. */
const timeLimit = 30_000;
const stepLimit = 10_000;
/** Connections to the server at once: many servers refuse more from one client. */
const connections = 8;
/** RFC 4954: replies that ask for another login, or for encryption. */
const settings: readonly number[] = [530, 534, 535, 538];

/** What came of an attempt. */
export interface MailOutcome {
  readonly delivered: boolean;
  /** The reply of the server; 0: none. */
  readonly status: number;
  readonly problem: string;
  /** Milliseconds before the next attempt; 0: not specified. */
  readonly pause: number;
  /** Another attempt would end alike. */
  readonly isFinal?: boolean;
}

export interface SmtpOptions {
  /** `smtp://` or `smtps://`; the query sets options of nodemailer. */
  readonly url: string;
  /** The sender of all mails. */
  readonly from: string;
  /** Milliseconds, for tests. */
  readonly limit?: number;
}

/** Sends one mail. Never rejects. @param id of its delivery: the same for every attempt */
export type SendBySmtp = (
  mail: Mail & { readonly id: string; readonly account: string },
  stopped: AbortSignal,
) => Promise<MailOutcome>;

export function createSendBySmtp({ url, from, limit = timeLimit }: SmtpOptions): SendBySmtp {
  const slots = new FairShare({
    capacity: connections,
    queueLimit: 1000,
    full: 'too many mails are being sent',
  });
  const step = Math.min(stepLimit, limit);
  // the query of the address overrides these
  const options: SMTPTransport.Options = {
    url,
    // a server in between must not be able to strip STARTTLS; on this machine there is none
    requireTLS: !isLocal(url),
    ...{ connectionTimeout: step, greetingTimeout: step, socketTimeout: step, dnsTimeout: step },
    disableFileAccess: true,
    disableUrlAccess: true,
  };
  const domain = domainOf(from);
  return async (mail, stopped) => {
    try {
      await slots.run(
        () =>
          withDeadline(stopped, limit, ({ signal }) => send(options, messageOf(mail, from, domain), signal)),
        stopped,
        mail.account,
      );
      return { delivered: true, status: 250, problem: '', pause: 0 };
    } catch (error) {
      return outcomeOf(error);
    }
  };
}

async function send(
  options: SMTPTransport.Options,
  message: SendMailOptions,
  signal: AbortSignal,
): Promise<void> {
  // loaded with the first mail: most processes send none
  const { createTransport } = await import('nodemailer');
  const transport = createTransport(options);
  // the types do not know the signal yet
  const abortable: SendMailOptions & { signal: AbortSignal } = { ...message, signal };
  try {
    await transport.sendMail(abortable);
  } finally {
    transport.close();
  }
}

/** Addresses are given as objects, which are never parsed as lists. */
function messageOf(
  { id, to, subject, text }: Parameters<SendBySmtp>[0],
  from: string,
  domain: string,
): SendMailOptions {
  return {
    from,
    to: [{ name: '', address: to }],
    subject,
    text,
    messageId: `<${id}@${domain}>`,
    // RFC 3834 section 5: no automatic replies
    headers: { 'Auto-Submitted': 'auto-generated' },
  };
}

/**
 * RFC 5321 section 4.2.1: a 5yz reply is final. But a server that wants another login or more encryption says something
 * about its configuration, which may be corrected while the mail waits.
 */
function outcomeOf(error: unknown): MailOutcome {
  if (error instanceof DeadlinePassed)
    return { delivered: false, status: 0, problem: 'took too long', pause: 0 };
  const { responseCode = 0, code, message } = error as SmtpError;
  const isOfMail = code === 'EENVELOPE' || code === 'EMESSAGE';
  const what = responseCode > 0 ? `answered ${responseCode}` : (code ?? String(message).slice(0, 200));
  const isFinal = isOfMail && (responseCode === 0 || responseCode >= 500) && !settings.includes(responseCode);
  return { delivered: false, status: responseCode, problem: what, pause: 0, ...(isFinal && { isFinal }) };
}

interface SmtpError {
  /** The reply of the server. */
  readonly responseCode?: number;
  readonly code?: string;
  readonly message?: string;
}

function isLocal(url: string): boolean {
  const { hostname } = new URL(url);
  return /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}

function domainOf(from: string): string {
  return domainToASCII(from.replace(/>$/, '').split('@').at(-1) ?? '') || 'localhost';
}
