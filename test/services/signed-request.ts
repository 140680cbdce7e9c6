import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { createS3Signer } from '#objects/s3/s3-signer.ts';
import type { S3Stub } from './s3-stub/start-s3-stub.ts';

export interface SignedRequestArgs {
  readonly stub: Pick<S3Stub, 'endpoint' | 'region' | 'accessKeyId' | 'secretAccessKey'>;
  readonly method: string;
  /** Path and query, encoded, and of one parameter at most that has a value. */
  readonly url: string;
  /** Lower-case names. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly date?: Date;
  /** Sent, but not signed. */
  readonly unsigned?: Readonly<Record<string, string>>;
}

/** A request that the store would not send, signed as the store signs; its body is to come. */
export function openSigned(args: SignedRequestArgs): ClientRequest {
  const { stub, method, url, headers, date = new Date(), unsigned } = args;
  const [path = '', query = ''] = url.split('?');
  // a name alone is signed as one with an empty value
  const canonical = query.split('&').map((pair) => (pair === '' || pair.includes('=') ? pair : `${pair}=`));
  const unsignedRequest = { method, path, query: canonical.sort().join('&') };
  const { host } = new URL(stub.endpoint);
  const signed = createS3Signer(stub.region)(
    { ...unsignedRequest, headers: { ...headers, host } },
    stub,
    date,
  );
  return request(stub.endpoint + url, { method, agent: false, headers: { ...signed, ...unsigned } });
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** Signs, sends on a connection of its own, and reads the answer. */
export async function sendSigned(args: SignedRequestArgs): Promise<RawAnswer> {
  const req = openSigned(args);
  req.end(args.body);
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
