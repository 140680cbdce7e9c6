import { timingSafeEqual } from 'node:crypto';
import { type Authorization, readAuthorization } from './authorization.ts';
import { canonicalRequest, type SignableRequest } from './canonical-request.ts';
import { s3Error } from './s3-error.ts';
import { requestSignature, scopeText, signingKey } from './sigv4.ts';

export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly region: string;
}

const maxSkewMs = 15 * 60_000;

/** Answers x-amz-content-sha256, which the body must keep to. */
export function verifySignature(
  request: SignableRequest,
  headerNames: Iterable<string>,
  credentials: Credentials,
  now: number,
): string {
  const claim = readAuthorization(request);
  if (claim.accessKeyId !== credentials.accessKeyId) {
    throw s3Error('InvalidAccessKeyId', 'The AWS Access Key Id you provided does not exist in our records.', {
      AWSAccessKeyId: claim.accessKeyId,
    });
  }
  verifyScope(claim, credentials);
  verifyTime(claim, now);
  verifySignedHeaders(claim, headerNames);
  const key = signingKey(credentials.secretAccessKey, claim.scope);
  const canonical = canonicalRequest(request, claim.signedHeaders, claim.payloadHash);
  const expected = requestSignature(key, claim.amzDate, claim.scope, canonical);
  if (!timingSafeEqual(Buffer.from(expected), Buffer.from(claim.signature))) {
    throw s3Error(
      'SignatureDoesNotMatch',
      'The request signature we calculated does not match the signature you provided. Check your key and signing method.',
      { AWSAccessKeyId: claim.accessKeyId, SignatureProvided: claim.signature, CanonicalRequest: canonical },
    );
  }
  return claim.payloadHash;
}

function verifyScope({ scope, amzDate }: Authorization, credentials: Credentials): void {
  const expected = { date: amzDate.slice(0, 8), region: credentials.region, service: 's3' };
  if (scopeText(scope) === scopeText(expected)) return;
  throw s3Error(
    'AuthorizationHeaderMalformed',
    `The credential scope is wrong; expecting '${scopeText(expected)}'`,
    { Region: credentials.region },
  );
}

function verifyTime({ amzDate }: Authorization, now: number): void {
  const signedAt = Date.parse(
    amzDate.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'),
  );
  if (Number.isNaN(signedAt)) throw s3Error('AccessDenied', 'The date of the request is no date');
  if (Math.abs(now - signedAt) > maxSkewMs) {
    throw s3Error(
      'RequestTimeTooSkewed',
      'The difference between the request time and the current time is too large.',
      {
        RequestTime: amzDate,
        ServerTime: new Date(now).toISOString(),
        MaxAllowedSkewMilliseconds: `${maxSkewMs}`,
      },
    );
  }
}

/** "The CanonicalHeaders list must include ... the HTTP host header ... [and] any x-amz-* headers". */
function verifySignedHeaders({ signedHeaders }: Authorization, headerNames: Iterable<string>): void {
  const unsigned = ['host', ...headerNames].filter(
    (name) => (name === 'host' || name.startsWith('x-amz-')) && !signedHeaders.includes(name),
  );
  if (unsigned.length > 0) {
    throw s3Error('AccessDenied', 'There were headers present in the request which were not signed', {
      HeadersNotSigned: unsigned.join(', '),
    });
  }
}
