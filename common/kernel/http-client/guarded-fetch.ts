import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { untilAborted, withDeadline } from '../limits/deadline.ts';
import { type Address, ClosedNetworkError, type FindAddress } from './network-guard.ts';

/** What libraries that bring their own protocol pass to `fetch`. */
interface FetchOptions {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

export type GuardedFetch = (url: string, options: FetchOptions) => Promise<Response>;

/** Milliseconds for a request with its response. */
const timeLimit = 10_000;
/** Bytes of a response. */
const largestAnswer = 512 * 1024;

/**
 * A `fetch` for addresses that others choose: https, or http to this machine; to the address that was checked; without
 * redirects; with a deadline, and a limit of bytes.
 */
export function createGuardedFetch(findAddress: FindAddress): GuardedFetch {
  return (address, options) =>
    withDeadline(options.signal, timeLimit, ({ signal }) => fetchFrom(address, options, findAddress, signal));
}

async function fetchFrom(
  address: string,
  { method, headers, body }: FetchOptions,
  findAddress: FindAddress,
  until: AbortSignal,
): Promise<Response> {
  const url = new URL(address);
  const found = await untilAborted(findAddress(url.hostname), until);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(found)))
    throw new ClosedNetworkError('http is for this machine only: use https');
  const text = body === undefined || body === null ? '' : String(body);
  const answer = await send(url, { method, headers, text, found, until });
  const bytes = await readAll(answer, until);
  const { statusCode: status = 500, headers: received } = answer;
  const named = Object.entries(received).flatMap(([name, value]) =>
    typeof value === 'string' ? [[name, value] as const] : [],
  );
  return new Response(mayHaveBody(status) ? bytes : null, { status, headers: Object.fromEntries(named) });
}

function isLoopback({ address }: Address): boolean {
  return address.startsWith('127.') || address === '::1';
}

/** https://fetch.spec.whatwg.org/#null-body-status */
function mayHaveBody(status: number): boolean {
  return ![101, 103, 204, 205, 304].includes(status);
}

function send(
  url: URL,
  args: Pick<FetchOptions, 'method' | 'headers'> & {
    readonly text: string;
    readonly found: Address;
    readonly until: AbortSignal;
  },
): Promise<IncomingMessage> {
  const { method, headers, text, found, until } = args;
  const { address, family } = found;
  return new Promise((resolve, reject) => {
    const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, {
      method,
      headers: { ...headers, ...(text !== '' && { 'content-length': `${Buffer.byteLength(text)}` }) },
      // a reused connection would go to an address that was checked for another request
      agent: false,
      signal: until,
      lookup: (_, options, callback) =>
        options.all ? callback(null, [{ address, family }]) : callback(null, address, family),
    });
    request.on('response', resolve).on('error', reject);
    request.end(text);
  });
}

async function readAll(answer: IncomingMessage, until: AbortSignal): Promise<Buffer<ArrayBuffer>> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    size += chunk.byteLength;
    if (size > largestAnswer) throw new Error(`the response has more than ${largestAnswer} bytes`);
    chunks.push(chunk);
  }
  until.throwIfAborted();
  return Buffer.concat(chunks);
}
