import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { SignatureV4 } from '@smithy/signature-v4';
import { s3Error } from './s3-error.ts';

export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly region: string;
}

const maxSkewMs = 15 * 60_000;

/** What the SDK's signer needs of a hash. */
export class Sha256 {
  readonly #hash: { update(data: Uint8Array | string): unknown; digest(): Buffer };

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash =
      secret === undefined
        ? createHash('sha256')
        : createHmac('sha256', typeof secret === 'string' ? secret : Buffer.from(secret as Uint8Array));
  }

  update(data: Uint8Array | string): void {
    this.#hash.update(data);
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }

  reset(): void {}
}

/** A signature as it was sent, in headers or in the query. */
interface SentSignature {
  readonly scope: string;
  readonly names: string;
  readonly signature: string;
  readonly date: string;
  /** Of a presigned address, in seconds. */
  readonly lifetime: number | undefined;
}

const authorizationForm =
  /^AWS4-HMAC-SHA256 Credential=([^ ,]+), *SignedHeaders=([^ ,]+), *Signature=([0-9a-f]{64})$/;
const scopeForm = /^([^/]+)\/\d{8}\/([^/]+)\/s3\/aws4_request$/;

function sentSignature({ headers }: IncomingMessage, query: URLSearchParams): SentSignature {
  const { authorization = '', 'x-amz-date': date = '' } = headers as Record<string, string>;
  const inQuery = (name: string) => query.get(`X-Amz-${name}`) ?? '';
  if (inQuery('Algorithm') === 'AWS4-HMAC-SHA256') {
    if (authorization !== '') throw s3Error('InvalidArgument', 'Only one auth mechanism allowed');
    return {
      scope: inQuery('Credential'),
      names: inQuery('SignedHeaders'),
      signature: inQuery('Signature'),
      date: inQuery('Date'),
      lifetime: Number(inQuery('Expires')),
    };
  }
  const [, scope = '', names = '', signature = ''] = authorizationForm.exec(authorization) ?? [];
  return { scope, names, signature, date, lifetime: undefined };
}

/** https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html: X-Amz-Expires. */
function assertInTime(signed: Date, lifetime: number | undefined): void {
  const age = Date.now() - signed.getTime();
  if (lifetime === undefined) {
    if (!(Math.abs(age) <= maxSkewMs))
      throw s3Error('RequestTimeTooSkewed', 'The difference between the request time and now is too large.');
    return;
  }
  if (!(lifetime >= 1 && lifetime <= 604_800))
    throw s3Error('AuthorizationQueryParametersError', 'X-Amz-Expires must be less than a week (in seconds)');
  if (!(age >= -maxSkewMs && age <= lifetime * 1000)) throw s3Error('AccessDenied', 'Request has expired');
}

/**
 * Signs a request once more, with the signer of the SDK, and refuses one that was signed otherwise:
 * https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-auth-using-authorization-header.html
 */
export async function verifySignature(req: IncomingMessage, credentials: Credentials): Promise<void> {
  const { pathname, searchParams } = addressOf(req);
  const { scope, names, signature, date, lifetime } = sentSignature(req, searchParams);
  const [, accessKeyId, region] = scopeForm.exec(scope) ?? [];
  if (accessKeyId === undefined) throw s3Error('AccessDenied', 'Access Denied');
  if (accessKeyId !== credentials.accessKeyId)
    throw s3Error('InvalidAccessKeyId', 'The AWS Access Key Id you provided does not exist in our records.');
  if (region !== credentials.region)
    throw s3Error('AuthorizationHeaderMalformed', `The credential scope is wrong; expecting another region`, {
      Region: credentials.region,
    });
  const signingDate = new Date(
    date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'),
  );
  assertInTime(signingDate, lifetime);
  const signed = new Set(names.split(';'));
  const unsigned = Object.keys(req.headers).find((name) => name.startsWith('x-amz-') && !signed.has(name));
  if (unsigned !== undefined || !signed.has('host'))
    throw s3Error('AccessDenied', `There were headers present in the request which were not signed`);
  const signer = new SignatureV4({
    service: 's3',
    region,
    credentials,
    sha256: Sha256,
    uriEscapePath: false,
    applyChecksum: false,
  });
  const { 'X-Amz-Signature': _, ...query } = Object.fromEntries(searchParams);
  const request = {
    method: req.method ?? '',
    protocol: 'http:',
    hostname: '',
    path: pathname,
    query: query as Record<string, string>,
    headers: Object.fromEntries([...signed].map((name) => [name, req.headersDistinct[name]?.join() ?? ''])),
  };
  const options = { signingDate, signableHeaders: signed };
  const expected =
    lifetime === undefined
      ? (await signer.sign(request, options)).headers.authorization?.slice(-64)
      : await presignedAgain(signer, request, { ...options, expiresIn: lifetime });
  if (!isSame(expected ?? '', signature))
    throw s3Error('SignatureDoesNotMatch', 'The request signature we calculated does not match yours.');
}

/** The signature of a presigned address, none of whose headers move into the query, and whose payload is not hashed. */
async function presignedAgain(
  signer: SignatureV4,
  request: Parameters<SignatureV4['presign']>[0],
  options: NonNullable<Parameters<SignatureV4['presign']>[1]>,
): Promise<string> {
  const unhoistableHeaders = new Set(Object.keys(request.headers));
  // a body that it can't hash is signed as UNSIGNED-PAYLOAD
  const { query } = await signer.presign({ ...request, body: {} }, { ...options, unhoistableHeaders });
  return String(query?.['X-Amz-Signature']);
}

function isSame(expected: string, given: string): boolean {
  return expected.length === given.length && timingSafeEqual(Buffer.from(expected), Buffer.from(given));
}

/** Path and query as they were sent: `new URL` would take dots out of a path. */
export function addressOf({ url = '/' }: IncomingMessage): {
  pathname: string;
  searchParams: URLSearchParams;
} {
  const [pathname = '', query] = url.split(/\?(.*)/s);
  return { pathname, searchParams: new URLSearchParams(query) };
}
