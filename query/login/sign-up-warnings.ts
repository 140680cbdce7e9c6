import { isIP } from 'node:net';
import { cantSendMail } from '#kernel/errors/catalogue.ts';
import { ClosedNetworkError, type FindAddress } from '#kernel/http-client/network-guard.ts';
import type { Rules } from './rules.ts';

/** What the process can do about mails of sign-up. */
export interface MailSettings {
  readonly hasSmtp: boolean;
  /** Throws for an address that webhooks may not call. */
  readonly findAddress: FindAddress;
}

/** Warnings about signUp in rules. @param isOpen whether visitors without a login may insert something */
export async function signUpWarnings(
  { signUp }: Pick<Rules, 'signUp'>,
  isOpen: boolean,
  { hasSmtp, findAddress }: MailSettings,
): Promise<string[]> {
  if (signUp === null) return [];
  const warnings: string[] = [];
  const { webhook } = signUp;
  if (!isOpen) warnings.push('Each sign-up is refused: insert does not allow visitors without a login');
  if (webhook === null && !hasSmtp) warnings.push(cantSendMail().message);
  if (webhook !== null && (await isClosed(new URL(webhook), findAddress)))
    warnings.push(
      'signUp.webhook leads into a private network: no mail is sent, unless WEBHOOK_PRIVATE_NETWORKS has it',
    );
  return warnings;
}

/** Only what needs no look-up of a name. */
async function isClosed({ hostname }: URL, findAddress: FindAddress): Promise<boolean> {
  if (isIP(hostname.replace(/^\[(.*)\]$/, '$1')) === 0) return false;
  try {
    await findAddress(hostname);
    return false;
  } catch (error) {
    if (!(error instanceof ClosedNetworkError)) throw error;
    return true;
  }
}
