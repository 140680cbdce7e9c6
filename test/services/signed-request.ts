import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { canonicalRequest } from './s3-stub/canonical-request.ts';
import { algorithm, hmac, requestSignature, scopeText, signingKey } from './s3-stub/sigv4.ts';
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
  readonly amzDate: string;
  readonly scope: { readonly date: string; readonly region: string; readonly service: string };
  readonly key: Buffer;
  readonly signature: string;
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
  return { url, headers: { ...signed, authorization, ...args.unsigned }, amzDate, scope, key, signature };
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

export function sendHead(
  method: string,
  { url, headers }: Pick<SignedHead, 'url' | 'headers'>,
  body: Uint8Array | string | undefined,
): Promise<RawAnswer> {
  const hasLength = body !== undefined && headers['transfer-encoding'] === undefined;
  const req = request(url, {
    method,
    agent: false,
    headers: { ...(hasLength && { 'content-length': `${Buffer.byteLength(body)}` }), ...headers },
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

/** A presigned URL; `headers` are those that its user must send. */
export function presign(
  args: Pick<SignedRequestArgs, 'stub' | 'method' | 'url' | 'headers' | 'date'> & {
    readonly expires: number;
  },
): URL {
  const host = new URL(args.stub.endpoint).host;
  const signed: Record<string, string> = { ...args.headers, host };
  const amzDate = amzDateOf(args.date ?? new Date());
  const scope = { date: amzDate.slice(0, 8), region: args.stub.region, service: 's3' };
  const names = Object.keys(signed).sort();
  const query = new URLSearchParams({
    'X-Amz-Algorithm': algorithm,
    'X-Amz-Credential': `${args.stub.accessKeyId}/${scopeText(scope)}`,
    'X-Amz-Date': amzDate,
    'X-Amz-Expires': `${args.expires}`,
    'X-Amz-SignedHeaders': names.join(';'),
  });
  const url = `${args.url}${args.url.includes('?') ? '&' : '?'}${query}`;
  const canonical = canonicalRequest(
    { method: args.method, url, headerValues: (name) => [signed[name] ?? ''] },
    names,
    'UNSIGNED-PAYLOAD',
  );
  const key = signingKey(args.stub.secretAccessKey, scope);
  return new URL(
    `${args.stub.endpoint}${url}&X-Amz-Signature=${requestSignature(key, amzDate, scope, canonical)}`,
  );
}

/** An aws-chunked body; signed when the head it belongs to is given. */
export function awsChunkedBody(
  chunks: readonly Uint8Array[],
  trailer: readonly string[],
  head?: SignedHead,
): Buffer {
  const pieces: (string | Uint8Array)[] = [];
  let previous = head?.signature ?? '';
  const sign = (kind: string, hashes: string): string => {
    if (head === undefined) return '';
    const text = [`AWS4-HMAC-SHA256-${kind}`, head.amzDate, scopeText(head.scope), previous, hashes].join(
      '\n',
    );
    previous = hmac(head.key, text).toString('hex');
    return previous;
  };
  const sha256 = (data: Uint8Array | string): string => createHash('sha256').update(data).digest('hex');
  for (const chunk of [...chunks, new Uint8Array()]) {
    const signature = sign('PAYLOAD', `${sha256('')}\n${sha256(chunk)}`);
    pieces.push(chunk.length.toString(16), signature && `;chunk-signature=${signature}`, '\r\n');
    if (chunk.length > 0) pieces.push(chunk, '\r\n');
  }
  for (const line of trailer) pieces.push(line, '\r\n');
  if (head !== undefined && trailer.length > 0) {
    const signature = sign('TRAILER', sha256(trailer.map((line) => `${line}\n`).join('')));
    pieces.push(`x-amz-trailer-signature:${signature}`, '\r\n');
  }
  pieces.push('\r\n');
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece as string)));
}

function amzDateOf(date: Date): string {
  return date.toISOString().replace(/[-:]|\.\d{3}/g, '');
}
