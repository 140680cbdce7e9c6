import type { AdmitMail, MailPurpose, MakeMail, PromisedMail } from '#kernel/record-events/mail.ts';
import type { Delivery } from './delivery.ts';

/** Takes the place of an address: all mails of an account that go by SMTP take turns as one target. */
export const smtpTarget = 'mailto:';

export function isMail({ event }: Pick<Delivery, 'event'>): boolean {
  return event.startsWith('mail.');
}

/** What each call of a webhook begins with. */
export function headOf(
  delivery: Pick<Delivery, 'id' | 'event' | 'project' | 'space' | 'recordIds' | 'createdAt'>,
) {
  const { id: deliveryId, event, project, space, recordIds, createdAt } = delivery;
  return { deliveryId, event, project, space, recordIds, time: createdAt.toISOString() };
}

interface Maker {
  readonly make: MakeMail;
  readonly admit: AdmitMail;
}

/**
 * The query service makes the mails and limits them, but it opens after the events. Promises of an earlier process wait for
 * it.
 */
export class MailMaker {
  readonly #maker: Promise<Maker>;
  #register: (maker: Maker) => void = () => {};

  constructor() {
    this.#maker = new Promise((resolve) => {
      this.#register = resolve;
    });
  }

  register(maker: Maker): void {
    this.#register(maker);
  }

  /** @param content of the delivery: a promise as JSON */
  async make(content: string, signal: AbortSignal): ReturnType<MakeMail> {
    const { make } = await this.#maker;
    return make(JSON.parse(content) as PromisedMail, signal);
  }

  /** Counts a mail that is sent again. Throws 429. @param content as for `make` */
  async admit(content: string): Promise<void> {
    const { admit } = await this.#maker;
    await admit(JSON.parse(content) as PromisedMail);
  }
}

export function mailEvent(purpose: MailPurpose): Delivery['event'] {
  return `mail.${purpose}`;
}
