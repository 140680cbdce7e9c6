import type { SignableRequest } from './canonical-request.ts';
import { splitUrl } from './canonical-request.ts';
import { Query } from './query.ts';
import { s3Error } from './s3-error.ts';
import { algorithm, type CredentialScope } from './sigv4.ts';

/** What a request claims about itself, not yet verified. */
export interface Authorization {
  readonly accessKeyId: string;
  readonly scope: CredentialScope;
  readonly signedHeaders: readonly string[];
  readonly signature: string;
  /** YYYYMMDDTHHMMSSZ */
  readonly amzDate: string;
  /** Seconds that a presigned URL lives; null for a signature in the header. */
  readonly expires: number | null;
  readonly payloadHash: string;
}

export function readAuthorization(request: SignableRequest): Authorization {
  const header = request.headerValues('authorization')?.[0];
  const query = new Query(splitUrl(request.url).query);
  if (header !== undefined) return fromHeader(header, request);
  if (query.has('X-Amz-Signature') || query.has('X-Amz-Algorithm')) return fromQuery(query);
  throw s3Error('AccessDenied', 'Access Denied');
}

/** https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-auth-using-authorization-header.html */
function fromHeader(header: string, request: SignableRequest): Authorization {
  const match =
    /^AWS4-HMAC-SHA256 +Credential=([^ ,]+), *SignedHeaders=([^ ,]+), *Signature=([0-9a-f]{64})$/.exec(
      header,
    );
  if (match === null) throw malformedHeader('The authorization header is malformed.');
  const amzDate = request.headerValues('x-amz-date')?.[0];
  if (amzDate === undefined || !isAmzDate(amzDate)) {
    throw s3Error('AccessDenied', 'AWS authentication requires a valid Date or x-amz-date header');
  }
  const payloadHash = request.headerValues('x-amz-content-sha256')?.[0];
  if (payloadHash === undefined) {
    throw s3Error('InvalidRequest', 'Missing required header for this request: x-amz-content-sha256');
  }
  const [, credential = '', signedHeaders = '', signature = ''] = match;
  return {
    ...readCredential(credential, malformedHeader),
    signedHeaders: signedHeaders.split(';'),
    signature,
    amzDate,
    expires: null,
    payloadHash,
  };
}

/** https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html */
function fromQuery(query: Query): Authorization {
  const value = (name: string, pattern: RegExp): string => {
    const text = query.get(name);
    if (text === undefined || !pattern.test(text)) throw malformedQuery(`${name} is missing or malformed`);
    return text;
  };
  value('X-Amz-Algorithm', new RegExp(`^${algorithm}$`));
  const expires = Number(value('X-Amz-Expires', /^\d{1,9}$/));
  // "The minimum value you can set is 1, and the maximum is 604800 (seven days)."
  if (expires < 1 || expires > 604_800) throw malformedQuery('X-Amz-Expires must be between 1 and 604800');
  return {
    ...readCredential(value('X-Amz-Credential', /^/), malformedQuery),
    signedHeaders: value('X-Amz-SignedHeaders', /^[a-z0-9-]+(;[a-z0-9-]+)*$/).split(';'),
    signature: value('X-Amz-Signature', /^[0-9a-f]{64}$/),
    amzDate: value('X-Amz-Date', /^\d{8}T\d{6}Z$/),
    expires,
    // "You don't include a payload hash in the Canonical Request ... use the constant string"
    payloadHash: query.get('X-Amz-Content-Sha256') ?? 'UNSIGNED-PAYLOAD',
  };
}

function readCredential(
  credential: string,
  malformed: (message: string) => Error,
): { accessKeyId: string; scope: CredentialScope } {
  const [accessKeyId = '', date = '', region = '', service = '', terminator, ...more] = credential.split('/');
  if (accessKeyId === '' || terminator !== 'aws4_request' || more.length > 0 || !/^\d{8}$/.test(date)) {
    throw malformed('The Credential is malformed; expecting "<key>/YYYYMMDD/REGION/SERVICE/aws4_request".');
  }
  return { accessKeyId, scope: { date, region, service } };
}

function isAmzDate(text: string): boolean {
  return /^\d{8}T\d{6}Z$/.test(text);
}

function malformedHeader(message: string): Error {
  return s3Error('AuthorizationHeaderMalformed', message);
}

function malformedQuery(message: string): Error {
  return s3Error('AuthorizationQueryParametersError', message);
}
