import { LRUCache } from 'lru-cache';
import type { KeyedHash } from '#auth/signing-keys.ts';
import type { FindAddress } from '#kernel/http-client/network-guard.ts';
import type { Log } from '#kernel/log/log.ts';
import type { SendBySmtp } from '#kernel/mail/send-by-smtp.ts';
import type { ObserveCall } from '#kernel/telemetry/observe-call.ts';
import { type CallOutcome, callWebhook, unanswered } from './call-webhook.ts';
import type { Delivery } from './delivery.ts';
import type { DeliveryTable } from './delivery-table.ts';
import { headOf, isMail, type MailMaker, smtpTarget } from './mail-deliveries.ts';

/** Bytes of memory for contents of new deliveries, so that a first attempt need not read them. */
const freshContents = 32 * 1024 ** 2;

export interface DeliveryCallsDeps {
  readonly table: DeliveryTable;
  readonly findAddress: FindAddress;
  readonly secretOf: KeyedHash;
  readonly observeCall: ObserveCall;
  readonly mailMaker: MailMaker;
  /** Absent: there is no SMTP server. */
  readonly sendBySmtp?: SendBySmtp | undefined;
  readonly log: Pick<Log, 'warn'>;
}

/** Makes the calls of deliveries, with contents from memory or from the store. */
export class DeliveryCalls {
  readonly #deps: DeliveryCallsDeps;
  readonly #fresh = new LRUCache<string, string>({ maxSize: freshContents, sizeCalculation: sizeOf });

  constructor(deps: DeliveryCallsDeps) {
    this.#deps = deps;
  }

  /** Keeps a content in memory for the first attempt. */
  keep(id: string, content: string): void {
    this.#fresh.set(id, content);
  }

  drop(id: string): void {
    this.#fresh.delete(id);
  }

  /** Makes an attempt. `accepted`: the address accepted the connection, and was sent the content. */
  async call(delivery: Delivery, signal: AbortSignal): Promise<CallOutcome & { readonly accepted: boolean }> {
    if (!isMail(delivery)) return this.#callWebhook(delivery, () => this.contentOf(delivery), signal);
    try {
      return { ...(await this.#sendMail(delivery, signal)), accepted: false };
    } catch (error) {
      return { ...unanswered((error as Error).message.slice(0, 200)), accepted: false };
    }
  }

  async #sendMail(delivery: Delivery, signal: AbortSignal): Promise<CallOutcome> {
    const { mailMaker, sendBySmtp } = this.#deps;
    const { id, ownerId: account, url } = delivery;
    const made = await mailMaker.make(await this.contentOf(delivery), signal);
    if (typeof made === 'string') return { ...unanswered(made), isFinal: true };
    if (url !== smtpTarget) {
      const content = JSON.stringify({ ...headOf(delivery), ...made });
      return this.#callWebhook(delivery, async () => content, signal);
    }
    if (sendBySmtp === undefined) return unanswered('SMTP_URL is not set');
    return this.#observed(() => sendBySmtp({ id, account, ...made }, signal), ['smtp', 'send'], signal);
  }

  async #callWebhook(
    delivery: Delivery,
    contentOf: () => Promise<string>,
    signal: AbortSignal,
  ): Promise<CallOutcome & { readonly accepted: boolean }> {
    const { findAddress, secretOf } = this.#deps;
    const { id, url, ownerId } = delivery;
    const secret = await secretOf(ownerId).catch(() => null);
    if (secret === null) return { ...unanswered('the signing key can not be read'), accepted: false };
    let accepted = false;
    const content = async (): Promise<string> => {
      const text = await contentOf();
      accepted = true;
      return text;
    };
    const call = () => callWebhook({ id, url, content, secret }, findAddress, signal);
    const outcome = await this.#observed(call, ['webhook', 'POST'], signal);
    return { ...outcome, accepted };
  }

  async #observed(
    call: () => Promise<CallOutcome>,
    [system, name]: readonly ['webhook' | 'smtp', string],
    signal: AbortSignal,
  ): Promise<CallOutcome> {
    let outcome = unanswered('');
    // throw, so that a refusal counts as a failed call
    const work = async (): Promise<void> => {
      outcome = await call();
      if (!outcome.delivered) throw new Error(outcome.problem);
    };
    await this.#deps.observeCall(system, name, work, { signal }).catch(() => {});
    return outcome;
  }

  async contentOf(delivery: Delivery): Promise<string> {
    const fresh = this.#fresh.get(delivery.id);
    if (fresh !== undefined) return fresh;
    const content = await this.#deps.table.content(delivery).catch((error: unknown) => {
      this.#deps.log.warn({ err: error }, 'the content of a webhook could not be read');
      throw new Error('the content could not be read');
    });
    if (content === null) throw new Error('the content is no longer kept');
    return content;
  }
}

/** A content may have two bytes a character. */
function sizeOf(content: string): number {
  return 2 * content.length + 200;
}
