import { createHmac } from 'node:crypto';
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { FindAddress } from '#kernel/http-client/network-guard.ts';
import { DeadlinePassed, untilAborted, withDeadline } from '#kernel/limits/deadline.ts';
import { parseRetryAfter } from './parse-retry-after.ts';

export interface WebhookCall {
  readonly id: string;
  readonly url: string;
  /** Makes the body. Called once the address accepted the connection. */
  readonly content: () => Promise<string>;
  readonly secret: Uint8Array;
}

/** The outcome of an attempt. `status` is 0 if there was no answer. */
export interface CallOutcome {
  readonly delivered: boolean;
  readonly status: number;
  readonly problem: string;
  /** Milliseconds that the address wants to pass before its next call; 0: not specified. */
  readonly pause: number;
  /** Another attempt would end alike, and the target is not to blame. */
  readonly isFinal?: boolean;
}

/** An attempt that got no answer. */
export function unanswered(problem: string): CallOutcome {
  return { delivered: false, status: 0, problem, pause: 0 };
}

/** Milliseconds for an attempt, including redirects. */
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
    return unanswered(problem);
  }
}

async function follow(
  call: WebhookCall,
  findAddress: FindAddress,
  signal: AbortSignal,
): Promise<CallOutcome> {
  let url = new URL(call.url);
  for (let redirects = 0; redirects <= mostRedirects; redirects++) {
    const { status, location, pause } = await post(url, call, findAddress, signal);
    if (status >= 200 && status < 300) return { delivered: true, status, problem: '', pause: 0 };
    // only these two redirects preserve method and body
    if ((status !== 307 && status !== 308) || location === undefined) {
      return { delivered: false, status, problem: `answered ${status}`, pause };
    }
    url = new URL(location, url);
    if (!/^https?:$/.test(url.protocol)) break;
  }
  return unanswered('redirected too often, or not to an http address');
}

async function post(
  url: URL,
  { id, content, secret }: WebhookCall,
  findAddress: FindAddress,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly location: string | undefined; readonly pause: number }> {
  const { address, family } = await untilAborted(findAddress(url.hostname), signal);
  const isSecure = url.protocol === 'https:';
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = (isSecure ? requestHttps : requestHttp)(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json; charset=utf-8', 'user-agent': 'Sluice-Webhooks' },
      // a reused connection would go to an address that was checked for another call
      agent: false,
      signal,
      lookup: (_, options, callback) =>
        options.all ? callback(null, [{ address, family }]) : callback(null, address, family),
    });
    const send = async (): Promise<void> => {
      const body = await content();
      const timestamp = Math.floor(Date.now() / 1000);
      request.setHeader('content-length', Buffer.byteLength(body));
      request.setHeader('webhook-id', id);
      request.setHeader('webhook-timestamp', timestamp);
      request.setHeader('webhook-signature', `v1,${signature(secret, id, timestamp, body)}`);
      request.end(body);
    };
    request.on('response', resolve).on('error', reject);
    // the body is read only once the connection is accepted: dead addresses cost no memory
    request.on('socket', (socket) => {
      socket.once(isSecure ? 'secureConnect' : 'connect', () => {
        send().catch((error: Error) => request.destroy(error));
      });
    });
  });
  // the body is not needed, and may be endless
  answer.destroy();
  const { statusCode: status = 0, headers } = answer;
  const mayPause = status === 429 || status === 503;
  const pause = mayPause ? parseRetryAfter(headers['retry-after'], Date.now()) : 0;
  return { status, location: headers.location, pause };
}

/** https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md#signature-scheme */
export function signature(secret: Uint8Array, id: string, timestamp: number, body: string): string {
  return createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64');
}

function messageOf(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: unknown };
  return String(typeof code === 'string' ? code : message).slice(0, 200);
}
