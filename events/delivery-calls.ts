import { LRUCache } from 'lru-cache';
import type { KeyedHash } from '#auth/signing-keys.ts';
import type { Log } from '#kernel/log/log.ts';
import type { ObserveCall } from '#kernel/telemetry/observe-call.ts';
import { type CallOutcome, callWebhook, unanswered } from './call-webhook.ts';
import type { Delivery } from './delivery.ts';
import type { DeliveryTable } from './delivery-table.ts';
import type { FindAddress } from './network-guard.ts';

/** Bytes of memory for contents of new deliveries, so that a first attempt need not read them. */
const freshContents = 32 * 1024 ** 2;

export interface DeliveryCallsDeps {
  readonly table: DeliveryTable;
  readonly findAddress: FindAddress;
  readonly secretOf: KeyedHash;
  readonly observeCall: ObserveCall;
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
    const { findAddress, secretOf, observeCall } = this.#deps;
    const { id, url, ownerId } = delivery;
    const secret = await secretOf(ownerId).catch(() => null);
    if (secret === null) return { ...unanswered('the signing key can not be read'), accepted: false };
    let outcome = unanswered('');
    let accepted = false;
    const content = async (): Promise<string> => {
      const text = await this.contentOf(delivery);
      accepted = true;
      return text;
    };
    // throw, so that a refusal counts as a failed call
    const work = async (): Promise<void> => {
      outcome = await callWebhook({ id, url, content, secret }, findAddress, signal);
      if (!outcome.delivered) throw new Error(outcome.problem);
    };
    await observeCall('webhook', 'POST', work, { signal }).catch(() => {});
    return { ...outcome, accepted };
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
