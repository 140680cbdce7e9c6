import { hash } from 'node:crypto';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { withDeadline } from '#kernel/limits/deadline.ts';
import type { Log } from '#kernel/log/log.ts';
import { unobserved } from '#kernel/telemetry/observe-call.ts';
import { publicPlace, type S3Place, s3Address } from '../s3-address.ts';
import { connectS3 } from '../s3-client.ts';
import { type S3StoreOptions, s3Timing } from '../s3-options.ts';
import { createS3Presigner, type Presign } from '../s3-presigner.ts';

/** What a client saw. */
export interface SeenAnswer {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** Its beginning. */
  readonly text: string;
}

/** A request that is sent as it stands, right or wrong. */
export interface SentRequest {
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Requests to a bucket as somebody without credentials sends them, and the addresses for them. */
export interface BucketRequests {
  /** Addresses at the endpoint that clients use. */
  readonly presign: Presign;
  /** The same, but they expired an hour ago. */
  readonly presignExpired: Presign;
  /** Addresses at the endpoint that the server uses. */
  readonly presignInside: Presign;
  /** Origin of the endpoint that clients use. */
  readonly origin: string;
  /** Rejects when there is no answer. */
  send(request: SentRequest, signal: AbortSignal): Promise<SeenAnswer>;
  close(): void;
}

/** The deadline of a request. Milliseconds. */
const patience = 30_000;
/** Most bytes of an answer: a bucket may have 1000 rules. */
const longestAnswer = 4 * 1024 * 1024;
const hour = 3_600_000;

export function openBucketRequests(
  options: S3Place &
    Pick<S3StoreOptions, 'credentials' | 'publicEndpoint'> & { readonly log: Pick<Log, 'warn'> },
): BucketRequests {
  const timing = s3Timing({ request: patience });
  const { client, agent } = connectS3({ ...options, maxSockets: 1, timing, observe: unobserved });
  const { config } = client;
  const inside = s3Address(config, options);
  const outside = s3Address(config, publicPlace(options));
  const past = { config: { ...config, systemClockOffset: -hour } };
  return {
    presign: createS3Presigner({ client, address: outside, timing }),
    presignExpired: createS3Presigner({ client: past, address: outside, timing }),
    presignInside: createS3Presigner({ client, address: inside, timing }),
    origin: outside.base.origin,
    async send(request, signal) {
      try {
        return await withDeadline(signal, patience, (attempt) => send(request, attempt.signal));
      } catch (cause) {
        signal.throwIfAborted();
        const reason = cause instanceof Error ? cause.message : String(cause);
        throw new Error(`${new URL(request.url).origin} can’t be reached from here: ${reason}`, { cause });
      }
    },
    close() {
      client.destroy();
      agent.destroy();
    },
  };
}

/** Content-MD5 of RFC 1864. */
export function md5Of(text: string): string {
  return hash('md5', text, 'base64');
}

/** The code of an error answer, such as AccessDenied; empty: there is none. */
export function codeOf({ text }: Pick<SeenAnswer, 'text'>): string {
  return /<Code>([^<]*)<\/Code>/.exec(text)?.[1] ?? '';
}

/** A status and a code, for the operator. */
export function refusalText(answer: SeenAnswer): string {
  return `${answer.status} ${codeOf(answer)}`.trimEnd();
}

export function isSuccess({ status }: Pick<SeenAnswer, 'status'>): boolean {
  return status >= 200 && status < 300;
}

function send({ method, url, headers, body = '' }: SentRequest, signal: AbortSignal): Promise<SeenAnswer> {
  const request = url.startsWith('https:') ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    const length = method === 'PUT' || body !== '' ? { 'content-length': `${Buffer.byteLength(body)}` } : {};
    // fetch would neither send Origin and Content-Length as they are given, nor leave out a type
    const sent = request(url, { method, headers: { ...headers, ...length }, signal, agent: false });
    sent.on('error', reject);
    sent.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
        if (text.length > longestAnswer)
          response.destroy(new Error(`the answer of ${new URL(url).host} is too long`));
      });
      response.on('error', reject);
      response.on('end', () => {
        const { statusCode = 0, headers } = response;
        const seen = Object.entries(headers).map(([name, value]) => [name, String(value)]);
        resolve({ status: statusCode, headers: Object.fromEntries(seen), text });
      });
    });
    sent.end(body);
  });
}
