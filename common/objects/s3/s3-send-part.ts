import type { S3Client } from '@aws-sdk/client-s3';
import type { Http1Pool } from '#kernel/http-client/http1-pool.ts';
import type { WholeAnswer } from '#kernel/http-client/whole-answer.ts';
import type { Attempt } from '#kernel/limits/deadline.ts';
import { untilAborted } from '#kernel/limits/deadline.ts';
import { traceHeaders } from '#kernel/telemetry/active-span.ts';
import type { ObserveCall } from '#kernel/telemetry/observe-call.ts';
import type { Part } from '../object-store.ts';
import { queryText, type S3Address } from './s3-address.ts';
import { credentialsOf } from './s3-credentials.ts';
import { S3Failure } from './s3-failure.ts';
import type { S3Timing } from './s3-options.ts';
import { createS3Signer } from './s3-signer.ts';

/** PutObject or UploadPart: the two requests with large bodies. */
export interface PartRequest {
  readonly key: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly part: Part;
}

/**
 * Sends the bytes of a part and returns its ETag. Once it settles, nothing refers to the chunks any more. Rejects when the
 * attempt is stopped, with an S3Failure, or with the error of the connection.
 */
export type PartSender = (request: PartRequest, attempt: Attempt) => Promise<string>;

/**
 * Sends parts without the SDK, which takes more CPU: one write of all chunks, with an unhashed payload
 * (x-amz-content-sha256: UNSIGNED-PAYLOAD) that is protected by the signed CRC-32.
 */
export function createPartSender(args: {
  readonly client: Pick<S3Client, 'config'>;
  readonly pool: Pick<Http1Pool, 'exchange'>;
  readonly address: S3Address;
  readonly timing: Pick<S3Timing, 'quiet'>;
}): PartSender {
  const { client, pool, address, timing } = args;
  const { config } = client;
  const { base } = address;
  const sign = createS3Signer(address.signingRegion);
  const credentialsNow = credentialsOf(config);

  return async ({ key, query, headers, part }, attempt) => {
    const path = address.path(key);
    const queryPart = queryText(query);
    let credentials = credentialsNow();
    if (credentials instanceof Promise) credentials = await untilAborted(credentials, attempt.signal);
    const signed = sign(
      {
        method: 'PUT',
        path,
        query: queryPart,
        headers: { ...headers, ...traceHeaders(), host: base.host, 'content-length': `${part.size}` },
      },
      credentials,
      new Date(Date.now() + config.systemClockOffset),
    );
    const target = queryPart === '' ? path : `${path}?${queryPart}`;
    const answer = await pool.exchange(
      { head: headText(target, signed), chunks: part.chunks },
      { quiet: timing.quiet, attempt },
    );
    const { status, headers: answered } = answer;
    const etag = answered.get('etag');
    if (status === 200 && etag !== undefined) return etag;
    const failure = readFailure(answer);
    const date = Date.parse(answered.get('date') ?? '');
    if (failure.code === 'RequestTimeTooSkewed' && !Number.isNaN(date)) {
      config.systemClockOffset = date - Date.now();
    }
    throw failure;
  };
}

/** Names the two requests like the SDK. */
export function observedParts(send: PartSender, observe: ObserveCall): PartSender {
  return (request, attempt) => {
    const call = request.query.partNumber === undefined ? 'PutObject' : 'UploadPart';
    return observe('s3', call, () => send(request, attempt), { signal: stopOf(attempt) });
  };
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

function headText(target: string, headers: Readonly<Record<string, string>>): string {
  let head = `PUT ${target} HTTP/1.1\r\n`;
  for (const name of Object.keys(headers)) {
    const value = headers[name] as string;
    if (!headerValue.test(value)) throw new TypeError(`the header ${name} can't be sent`);
    head += `${name}: ${value}\r\n`;
  }
  return `${head}\r\n`;
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
