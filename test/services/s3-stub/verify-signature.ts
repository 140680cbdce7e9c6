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
const authorizationForm =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/\d{8}\/([^/]+)\/s3\/aws4_request, *SignedHeaders=([^ ,]+), *Signature=([0-9a-f]{64})$/;

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

/**
 * Signs a request once more, with the signer of the SDK, and refuses one that was signed otherwise:
 * https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-auth-using-authorization-header.html
 */
export async function verifySignature(req: IncomingMessage, credentials: Credentials): Promise<void> {
  const { authorization = '', 'x-amz-date': date = '' } = req.headers as Record<string, string>;
  const [, accessKeyId, region, names = '', signature = ''] = authorizationForm.exec(authorization) ?? [];
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
  if (!(Math.abs(Date.now() - signingDate.getTime()) <= maxSkewMs))
    throw s3Error('RequestTimeTooSkewed', 'The difference between the request time and now is too large.');
  const signed = new Set(names.split(';'));
  const unsigned = Object.keys(req.headers).find((name) => name.startsWith('x-amz-') && !signed.has(name));
  if (unsigned !== undefined || !signed.has('host'))
    throw s3Error('AccessDenied', `There were headers present in the request which were not signed`);
  const { pathname, searchParams } = addressOf(req);
  const again = await new SignatureV4({
    service: 's3',
    region,
    credentials,
    sha256: Sha256,
    uriEscapePath: false,
    applyChecksum: false,
  }).sign(
    {
      method: req.method ?? '',
      protocol: 'http:',
      hostname: '',
      path: pathname,
      query: Object.fromEntries(searchParams),
      headers: Object.fromEntries([...signed].map((name) => [name, req.headersDistinct[name]?.join() ?? ''])),
    },
    { signingDate, signableHeaders: signed },
  );
  const expected = again.headers.authorization?.slice(-64) ?? '';
  if (!timingSafeEqual(Buffer.from(expected), Buffer.from(signature)))
    throw s3Error('SignatureDoesNotMatch', 'The request signature we calculated does not match yours.');
}

/** Path and query as they were sent: `new URL` would take dots out of a path. */
export function addressOf({ url = '/' }: IncomingMessage): {
  pathname: string;
  searchParams: URLSearchParams;
} {
  const [pathname = '', query] = url.split(/\?(.*)/s);
  return { pathname, searchParams: new URLSearchParams(query) };
}
