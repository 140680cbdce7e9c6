/** Status codes of https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html, section "List of error codes". */
const statusOf = {
  AccessDenied: 403,
  AuthorizationHeaderMalformed: 400,
  AuthorizationQueryParametersError: 400,
  BadDigest: 400,
  EntityTooSmall: 400,
  InternalError: 500,
  InvalidAccessKeyId: 403,
  InvalidArgument: 400,
  InvalidPart: 400,
  InvalidRange: 416,
  InvalidRequest: 400,
  NoSuchBucket: 404,
  NoSuchKey: 404,
  NoSuchUpload: 404,
  NotImplemented: 501,
  PreconditionFailed: 412,
  RequestTimeTooSkewed: 403,
  SignatureDoesNotMatch: 403,
} as const;

/** A refusal as S3 words it; `details` become elements beside Code and Message. */
export class S3Error extends Error {
  readonly code: string;
  readonly status: number;
  readonly details: Readonly<Record<string, string>>;

  constructor(code: string, message: string, status: number, details: Readonly<Record<string, string>> = {}) {
    super(message);
    this.code = code;
    this.status = status;
    this.details = details;
  }
}

export function s3Error(
  code: keyof typeof statusOf,
  message: string,
  details?: Record<string, string>,
): S3Error {
  return new S3Error(code, message, statusOf[code], details);
}

/** Nobody is left to answer: the client went away, or a fault cut the connection. */
export class ConnectionGone extends Error {}
