import type { SignableRequest } from './canonical-request.ts';
import { s3Error } from './s3-error.ts';
import type { CredentialScope } from './sigv4.ts';

/** What a request claims about itself, not yet verified. */
export interface Authorization {
  readonly accessKeyId: string;
  readonly scope: CredentialScope;
  readonly signedHeaders: readonly string[];
  readonly signature: string;
  /** YYYYMMDDTHHMMSSZ */
  readonly amzDate: string;
  readonly payloadHash: string;
}

/** https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-auth-using-authorization-header.html */
export function readAuthorization(request: SignableRequest): Authorization {
  const header = request.headerValues('authorization')?.[0];
  if (header === undefined) throw s3Error('AccessDenied', 'Access Denied');
  const match =
    /^AWS4-HMAC-SHA256 +Credential=([^ ,]+), *SignedHeaders=([^ ,]+), *Signature=([0-9a-f]{64})$/.exec(
      header,
    );
  if (match === null) throw malformed('The authorization header is malformed.');
  const amzDate = request.headerValues('x-amz-date')?.[0];
  if (amzDate === undefined || !/^\d{8}T\d{6}Z$/.test(amzDate)) {
    throw s3Error('AccessDenied', 'AWS authentication requires a valid Date or x-amz-date header');
  }
  const payloadHash = request.headerValues('x-amz-content-sha256')?.[0];
  if (payloadHash === undefined) {
    throw s3Error('InvalidRequest', 'Missing required header for this request: x-amz-content-sha256');
  }
  const [, credential = '', signedHeaders = '', signature = ''] = match;
  return {
    ...readCredential(credential),
    signedHeaders: signedHeaders.split(';'),
    ...{ signature, amzDate, payloadHash },
  };
}

function readCredential(credential: string): { accessKeyId: string; scope: CredentialScope } {
  const [accessKeyId = '', date = '', region = '', service = '', terminator, ...more] = credential.split('/');
  if (accessKeyId === '' || terminator !== 'aws4_request' || more.length > 0 || !/^\d{8}$/.test(date)) {
    throw malformed('The Credential is malformed; expecting "<key>/YYYYMMDD/REGION/SERVICE/aws4_request".');
  }
  return { accessKeyId, scope: { date, region, service } };
}

function malformed(message: string): Error {
  return s3Error('AuthorizationHeaderMalformed', message);
}
