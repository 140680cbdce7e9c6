import type { MailPurpose, MakeMail, PromisedMail } from '#kernel/record-events/mail.ts';
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

/** The query service makes the mails, but it opens after the events. Promises of an earlier process wait for it. */
export class MailMaker {
  readonly #maker: Promise<MakeMail>;
  #register: (make: MakeMail) => void = () => {};

  constructor() {
    this.#maker = new Promise((resolve) => {
      this.#register = resolve;
    });
  }

  register(make: MakeMail): void {
    this.#register(make);
  }

  /** @param content of the delivery: a promise as JSON */
  async make(content: string, signal: AbortSignal): ReturnType<MakeMail> {
    const make = await this.#maker;
    return make(JSON.parse(content) as PromisedMail, signal);
  }
}

export function mailEvent(purpose: MailPurpose): Delivery['event'] {
  return `mail.${purpose}`;
}
