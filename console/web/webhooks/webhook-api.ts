import { address, callJson } from '../api.ts';

/** A call of a webhook, as `GET /_webhooks_/deliveries` answers it. */
export interface Delivery {
  readonly id: string;
  readonly event: string;
  readonly project: string;
  readonly space: string;
  readonly url: string;
  readonly recordIds: readonly string[];
  readonly state: 'pending' | 'delivered' | 'failed';
  readonly attempts: number;
  readonly lastStatus: number | null;
  readonly lastProblem: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** null: there will be none */
  readonly nextAttemptAt: string | null;
}

/** Calls that the page shows. */
export const shownDeliveries = 100;

/** Newest first. */
export function listDeliveries(signal: AbortSignal): Promise<readonly Delivery[]> {
  return callJson('/_webhooks_/deliveries', { query: { limit: shownDeliveries }, signal });
}

/** Makes a call again. @returns the delivery as it is now */
export function sendAgain(id: string): Promise<Delivery> {
  return callJson(address`/_webhooks_/deliveries/${id}/send`, { method: 'POST' });
}

/** The key that signs the calls of the account. */
export async function signingKey(signal: AbortSignal): Promise<string> {
  return (await callJson<{ secret: string }>('/_webhooks_/secret', { signal })).secret;
}
