import { createHmac } from 'node:crypto';
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { DeadlinePassed, withDeadline } from '../../common/abort/deadline.ts';
import { untilAborted } from '../../common/abort/until-aborted.ts';
import type { FindAddress } from './network-guard.ts';

export interface WebhookCall {
  readonly id: string;
  readonly url: string;
  readonly body: string;
  readonly secret: Uint8Array;
}

/** What an attempt came to. `status` is 0 where there was no answer. */
export interface CallOutcome {
  readonly delivered: boolean;
  readonly status: number;
  readonly problem: string;
}

/** Milliseconds for an attempt, with its redirects. */
const timeLimit = 15_000;
const mostRedirects = 3;

/** POSTs a delivery, signed as Standard Webhooks say (https://www.standardwebhooks.com). Never rejects. */
export async function callWebhook(
  call: WebhookCall,
  findAddress: FindAddress,
  stopped: AbortSignal,
): Promise<CallOutcome> {
  try {
    return await withDeadline(stopped, timeLimit, ({ signal }) => follow(call, findAddress, signal));
  } catch (error) {
    const problem = error instanceof DeadlinePassed ? 'took too long' : messageOf(error);
    return { delivered: false, status: 0, problem };
  }
}

async function follow(
  call: WebhookCall,
  findAddress: FindAddress,
  signal: AbortSignal,
): Promise<CallOutcome> {
  let url = new URL(call.url);
  for (let redirects = 0; redirects <= mostRedirects; redirects++) {
    const { status, location } = await post(url, call, findAddress, signal);
    if (status >= 200 && status < 300) return { delivered: true, status, problem: '' };
    // of the redirects only these two say that the same request is meant
    if ((status !== 307 && status !== 308) || location === undefined) {
      return { delivered: false, status, problem: `answered ${status}` };
    }
    url = new URL(location, url);
    if (!/^https?:$/.test(url.protocol)) break;
  }
  return { delivered: false, status: 0, problem: 'redirected too often, or to no http address' };
}

async function post(
  url: URL,
  { id, body, secret }: WebhookCall,
  findAddress: FindAddress,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly location: string | undefined }> {
  const { address, family } = await untilAborted(findAddress(url.hostname), signal);
  const timestamp = Math.floor(Date.now() / 1000);
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    'user-agent': 'Sluice-Webhooks',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature(secret, id, timestamp, body)}`,
  };
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = url.protocol === 'https:' ? requestHttps : requestHttp;
    const sent = request(url, {
      method: 'POST',
      headers,
      // a kept connection would go to an address that was checked for another call
      agent: false,
      signal,
      lookup: (_, options, callback) =>
        options.all ? callback(null, [{ address, family }]) : callback(null, address, family),
    });
    sent.on('response', resolve).on('error', reject).end(body);
  });
  // what it says beside its status is of no interest, and may be endless
  answer.destroy();
  return { status: answer.statusCode ?? 0, location: answer.headers.location };
}

/** https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md#signature-scheme */
export function signature(secret: Uint8Array, id: string, timestamp: number, body: string): string {
  return createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64');
}

function messageOf(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: unknown };
  return String(typeof code === 'string' ? code : message).slice(0, 200);
}
