import { hash } from 'node:crypto';
import type { S3Client } from '@aws-sdk/client-s3';
import type { Http1Pool } from '#kernel/http-client/http1-pool.ts';
import type { WholeAnswer } from '#kernel/http-client/whole-answer.ts';
import { type Attempt, untilAborted } from '#kernel/limits/deadline.ts';
import { traceHeaders } from '#kernel/telemetry/active-span.ts';
import type { ObserveCall } from '#kernel/telemetry/observe-call.ts';
import { queryText, type S3Address } from './s3-address.ts';
import { followClock } from './s3-clock.ts';
import { credentialsOf } from './s3-credentials.ts';
import { isStatus, S3Failure } from './s3-failure.ts';
import type { S3Timing } from './s3-options.ts';
import { createS3Presigner } from './s3-presigner.ts';
import { createS3Signer } from './s3-signer.ts';
import { unsignedPayload } from './s3-signing-key.ts';

/** A request about an object. */
export interface S3Request {
  /** Its name in the API reference of S3, for telemetry and errors. */
  readonly operation: string;
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  readonly key: string;
  /** Unescaped. */
  readonly query?: Readonly<Record<string, string>>;
  /** Lower-case names. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: RequestBody;
  /** Most bytes of the answer's body; absent: enough for a few lines of XML. */
  readonly maxAnswer?: number;
  /** Signs it in the query, as clients send it: servers may differ in what they support there. */
  readonly presigned?: true;
  /** How long the connection may be silent; absent: the usual time. Milliseconds. */
  readonly quiet?: number;
}

export interface RequestBody {
  readonly chunks: readonly Uint8Array[];
  /** Bytes of all chunks. */
  readonly size: number;
  /** SHA-256 of the bytes in hex, which is then signed. Absent: the payload is signed as unhashed. */
  readonly sha256?: string;
}

/**
 * Sends a request once, and reads its whole answer, which has the status 2xx. Once it settles, nothing refers to the
 * chunks any more. Rejects when the attempt is stopped, with an S3Failure, or with the error of the connection.
 */
export type S3Sender = (request: S3Request, attempt: Attempt) => Promise<WholeAnswer>;

const emptySha256 = hash('sha256', '');
/** AWS refuses a request whose time differs by more: RequestTimeTooSkewed. Milliseconds. */
const longestSkew = 15 * 60_000;

/** A body of text, such as XML. */
export function textBody(text: string): RequestBody {
  const bytes = Buffer.from(text);
  return { chunks: [bytes], size: bytes.byteLength, sha256: hash('sha256', bytes) };
}

/** Sends requests without the SDK, which takes five times the CPU of a small one (docs/decisions/081). */
export function createS3Sender(args: {
  readonly client: Pick<S3Client, 'config'>;
  readonly pool: Pick<Http1Pool, 'exchange'>;
  readonly address: S3Address;
  readonly timing: Pick<S3Timing, 'quiet' | 'request'>;
}): S3Sender {
  const { client, pool, address, timing } = args;
  const { config } = client;
  const { base } = address;
  const signer = createS3Signer(address.signingRegion);
  const presign = createS3Presigner({ client, address, timing });
  const credentialsNow = credentialsOf(config);
  const compareClocks = followClock(config);

  const sign = async (request: S3Request, attempt: Attempt): Promise<SignedHead> => {
    const { method, key, query = {}, body } = request;
    const path = address.path(key);
    const queryPart = queryText(query);
    let credentials = credentialsNow();
    if (credentials instanceof Promise) credentials = await untilAborted(credentials, attempt.signal);
    const payload = body === undefined ? emptySha256 : (body.sha256 ?? unsignedPayload);
    const headers: Record<string, string> = { host: base.host };
    Object.assign(headers, request.headers, traceHeaders());
    if (body !== undefined) headers['content-length'] = `${body.size}`;
    const now = new Date(Date.now() + config.systemClockOffset);
    const signed = signer({ method, path, query: queryPart, headers, payload }, credentials, now);
    // RFC 9110 section 8.6; servers differ in what they sign of an empty body
    if (body === undefined && method === 'POST') signed['content-length'] = '0';
    return { target: queryPart === '' ? path : `${path}?${queryPart}`, headers: signed };
  };
  const signQuery = async (request: S3Request, attempt: Attempt): Promise<SignedHead> => {
    const { method, key, query = {}, body } = request;
    const given = { ...request.headers, 'content-length': `${body?.size ?? 0}` };
    const asked = { method, key, query, headers: given, lifetime: 60 };
    const { url, headers } = await presign(asked, attempt.signal);
    return {
      target: url.slice(url.indexOf('/', url.indexOf('//') + 2)),
      headers: { host: base.host, ...headers },
    };
  };

  return async (request, attempt) => {
    const { method, body, maxAnswer, quiet = timing.quiet } = request;
    const { target, headers } = await (request.presigned ? signQuery : sign)(request, attempt);
    const answer = await pool.exchange(
      { head: headText(method, target, headers), chunks: body?.chunks ?? [], noBody: method === 'HEAD' },
      { quiet, attempt },
      maxAnswer,
    );
    if (answer.status >= 200 && answer.status < 300) {
      compareClocks(answer);
      return answer;
    }
    throw failureIn(answer, { isHead: method === 'HEAD', config });
  };
}

/** What is before the headers' end. */
interface SignedHead {
  /** Path and query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Names the requests like the SDK. */
export function observedSender(send: S3Sender, observe: ObserveCall): S3Sender {
  const isMissing = (error: unknown): boolean => isStatus(error, 404);
  return (request, attempt) =>
    observe('s3', request.operation, () => send(request, attempt), { signal: stopOf(attempt), isMissing });
}

/** The stop in the shape of a signal, without the cost of an AbortSignal. */
function stopOf(attempt: Attempt): Pick<AbortSignal, 'aborted' | 'reason'> {
  return {
    get aborted() {
      return attempt.stopped;
    },
    get reason() {
      return attempt.reason;
    },
  };
}

/** Visible characters, spaces and tabs: nothing that ends a line. */
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/;

function headText(method: string, target: string, headers: Readonly<Record<string, string>>): string {
  let head = `${method} ${target} HTTP/1.1\r\n`;
  for (const name of Object.keys(headers)) {
    const value = headers[name] as string;
    if (!headerValue.test(value)) throw new TypeError(`the header ${name} can't be sent`);
    head += `${name}: ${value}\r\n`;
  }
  return `${head}\r\n`;
}

/** The failure in an answer. If our clock is wrong, it is corrected by the server's for the next attempt. */
function failureIn(
  answer: WholeAnswer,
  { isHead, config }: { isHead: boolean; config: Pick<S3Client['config'], 'systemClockOffset'> },
): S3Failure {
  const failure = readFailure(answer);
  const offset = Date.parse(answer.headers.get('date') ?? '') - Date.now();
  if (Number.isNaN(offset)) return failure;
  // an answer to HEAD has no code
  const unnamed =
    isHead && failure.status === 403 && Math.abs(offset - config.systemClockOffset) > longestSkew;
  if (!unnamed && failure.code !== 'RequestTimeTooSkewed') return failure;
  config.systemClockOffset = offset;
  return unnamed ? new S3Failure(403, 'RequestTimeTooSkewed', failure.message) : failure;
}

/**
 * The failure in an error answer:
 * https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html, section "REST error responses".
 */
export function readFailure({
  status,
  reason,
  headers,
  text,
}: Pick<WholeAnswer, 'status' | 'reason' | 'headers' | 'text'>): S3Failure {
  const code = element(text, 'Code') ?? `Http${status}`;
  const message = element(text, 'Message') ?? (reason || 'no message');
  const region = headers.get('x-amz-bucket-region') ?? element(text, 'Region');
  return new S3Failure(status, code, message, region);
}

/** Text of the first such element. Errors are flat, and only their codes matter, so no XML parser is needed. */
function element(xml: string, name: string): string | undefined {
  return new RegExp(`<${name}>([^<]{0,1000})</${name}>`).exec(xml)?.[1];
}
