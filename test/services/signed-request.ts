import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { canonicalRequest } from './s3-stub/canonical-request.ts';
import { algorithm, requestSignature, scopeText, signingKey } from './s3-stub/sigv4.ts';
import type { S3Stub } from './s3-stub/start-s3-stub.ts';

export interface SignedRequestArgs {
  readonly stub: Pick<S3Stub, 'endpoint' | 'region' | 'accessKeyId' | 'secretAccessKey'>;
  readonly method: string;
  /** Path and query, encoded. */
  readonly url: string;
  /** Lower-case names. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  /** x-amz-content-sha256; the hash of the body unless given. */
  readonly payloadHash?: string;
  readonly date?: Date;
  /** Sent, but not signed. */
  readonly unsigned?: Readonly<Record<string, string>>;
}

export interface SignedHead {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
}

/** A request signed by hand, for what the SDK would never send. */
export function signHead(args: SignedRequestArgs): SignedHead {
  const url = new URL(args.stub.endpoint + args.url);
  const amzDate = amzDateOf(args.date ?? new Date());
  const payloadHash =
    args.payloadHash ??
    createHash('sha256')
      .update(args.body ?? '')
      .digest('hex');
  const signed: Record<string, string> = {
    ...args.headers,
    host: url.host,
    'x-amz-content-sha256': payloadHash,
    'x-amz-date': amzDate,
  };
  const names = Object.keys(signed).sort();
  const scope = { date: amzDate.slice(0, 8), region: args.stub.region, service: 's3' };
  const key = signingKey(args.stub.secretAccessKey, scope);
  const canonical = canonicalRequest(
    { method: args.method, url: args.url, headerValues: (name) => [signed[name] ?? ''] },
    names,
    payloadHash,
  );
  const signature = requestSignature(key, amzDate, scope, canonical);
  const authorization = `${algorithm} Credential=${args.stub.accessKeyId}/${scopeText(scope)}, SignedHeaders=${names.join(';')}, Signature=${signature}`;
  return { url, headers: { ...signed, authorization, ...args.unsigned } };
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** Signs, sends on a connection of its own, and reads the answer. */
export async function sendSigned(args: SignedRequestArgs): Promise<RawAnswer> {
  return sendHead(args.method, signHead(args), args.body);
}

function sendHead(
  method: string,
  { url, headers }: SignedHead,
  body: Uint8Array | string | undefined,
): Promise<RawAnswer> {
  const req = request(url, {
    method,
    agent: false,
    headers: { ...(body !== undefined && { 'content-length': `${Buffer.byteLength(body)}` }), ...headers },
  });
  req.end(body);
  return readAnswer(req);
}

export async function readAnswer(req: ClientRequest): Promise<RawAnswer> {
  const [res] = (await once(req, 'response')) as [IncomingMessage];
  // an early answer is an answer, though the rest of the body may find the connection closed
  req.on('error', () => {});
  const chunks: Buffer[] = [];
  for await (const chunk of res) chunks.push(chunk as Buffer);
  return { status: res.statusCode ?? 0, headers: res.headers, body: Buffer.concat(chunks).toString() };
}

function amzDateOf(date: Date): string {
  return date.toISOString().replace(/[-:]|\.\d{3}/g, '');
}
