import { ApiError } from '#kernel/errors/api-error.ts';
import { StoreUnavailable } from '#kernel/errors/store-unavailable.ts';
import { DeadlinePassed } from '#kernel/limits/deadline.ts';

/** An error answer to one of our own requests; `failureOf` also recognises the SDK's errors. */
export class S3Failure extends Error {
  readonly status: number;
  readonly code: string;
  readonly bucketRegion: string | undefined;

  constructor(status: number, code: string, message: string, bucketRegion?: string) {
    super(message);
    this.name = 'S3Failure';
    this.status = status;
    this.code = code;
    this.bucketRegion = bucketRegion;
  }
}

/** The facts about a thrown value. */
export interface FailureFacts {
  /** Status of the answer; undefined when there was none. */
  readonly status: number | undefined;
  /** S3's code such as NoSuchUpload, or the system's such as ECONNRESET. */
  readonly code: string;
  /** Region of the bucket, when S3 says so. */
  readonly bucketRegion: string | undefined;
}

interface SdkError extends Error {
  readonly code?: unknown;
  /** From the body of an answer. */
  readonly Region?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
  readonly $response?: { readonly headers?: Readonly<Record<string, string>> };
}

export function failureOf(thrown: unknown): FailureFacts {
  if (thrown instanceof S3Failure) return thrown;
  if (!(thrown instanceof Error)) return { status: undefined, code: '', bucketRegion: undefined };
  const { name, code, $metadata, $response, Region } = thrown as SdkError;
  return {
    status: $metadata?.httpStatusCode,
    code: typeof code === 'string' ? code : name,
    bucketRegion: $response?.headers?.['x-amz-bucket-region'] ?? Region,
  };
}

/** https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html: errors that a client should retry. */
const transientCodes = new Set([
  'ConditionalRequestConflict',
  'InternalError',
  'OperationAborted',
  'RequestTimeout',
  'ServiceUnavailable',
  'SlowDown',
]);

/** No connection, an untrusted certificate, or no credentials. */
const neverSent =
  /^(?:EAI_AGAIN|ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|UNABLE_TO_.*|.*CERT.*|CredentialsProviderError)$/;

/** Codes of lost connections beside those of the system. HPE: the answer was truncated, or is not HTTP. */
const connectionLost = /^(?:TimeoutError|(?:HPE|ERR_SSL|ERR_STREAM)_.*)$/;
/** Node's own errors with a code of the system do not always name the call. */
const systemCode = /^E(?:AI_)?[A-Z]{3,}$/;

/** Whether a retry may succeed. */
export function isTransient(thrown: unknown): boolean {
  if (thrown instanceof DeadlinePassed) return true;
  const { status, code } = failureOf(thrown);
  if (transientCodes.has(code)) return true;
  if (status === undefined) return systemCode.test(code) || connectionLost.test(code);
  // the SDK could not read the document of an answer: it was cut
  if (status < 300) return !(thrown instanceof S3Failure);
  // a retry doesn't help against 501 Not Implemented
  return status === 408 || status === 429 || (status >= 500 && status !== 501);
}

/** Whether the request certainly changed nothing; otherwise it may have taken effect. */
export function isRefusal(thrown: unknown): boolean {
  const { status, code } = failureOf(thrown);
  if (status === undefined) return neverSent.test(code);
  return status >= 300 && status < 500;
}

/** Whether S3 answered that it does not do this, now or later. */
export function isLasting(thrown: unknown): boolean {
  return failureOf(thrown).status !== undefined && !isTransient(thrown);
}

export function isStatus(thrown: unknown, status: number): boolean {
  return failureOf(thrown).status === status;
}

/** Whether the object or upload does not exist. */
export function isNotFound(thrown: unknown): boolean {
  const { status, code } = failureOf(thrown);
  return status === 404 && code !== 'NoSuchBucket';
}

/**
 * The error of a request to S3, with a text for the log and the operator. Whatever S3 answers, or its connection does, is a
 * StoreUnavailable; anything else is a fault of ours.
 */
export function storageError(operation: string, key: string, cause: unknown): Error {
  // of a request that this one needed, and of too many that wait
  if (cause instanceof StoreUnavailable || cause instanceof ApiError) return cause;
  const { status, code, bucketRegion } = failureOf(cause);
  const reason = cause instanceof Error ? cause.message : String(cause);
  const place =
    bucketRegion === undefined || !(isMoved(status) || code === 'AuthorizationHeaderMalformed')
      ? ''
      : `; the bucket is in the region ${bucketRegion}: set S3_REGION`;
  const answer = status === undefined ? code : `${status} ${code}`;
  const subject = key === '' ? operation : `${operation} of ${JSON.stringify(key)}`;
  const message = `S3 failed at ${subject}: ${answer}: ${reason}${place}`;
  // a single object may have its own access rules
  const isDenied = operation === 'HeadBucket' && status === 403;
  const problem = problemOf(cause) ?? (isDenied ? noRights : refusalOf(operation, cause));
  const isOurs = status === undefined && !isTransient(cause) && !neverSent.test(code);
  return isOurs && problem === undefined
    ? new Error(message, { cause })
    : new StoreUnavailable(message, { cause, problem, shown: code === tooSkewed ? wrongClock : undefined });
}

/** Rejects with a storage error, or with the signal's reason. @param key empty for requests about the bucket */
export async function withStorageErrors<T>(
  operation: string,
  key: string,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    signal.throwIfAborted();
    throw storageError(operation, key, error);
  }
}

/** Requests of an upload: one that keeps failing is a server that lacks it. */
const writes = new Set(['PutObject', 'CreateMultipartUpload', 'UploadPart', 'CompleteMultipartUpload']);
/** Statuses about a single object: it is gone, shorter, or another write was first. */
const ofOneObject = new Set([404, 409, 412, 416]);

/** What S3 refuses of our requests, when the bucket or the server is at fault. */
function refusalOf(operation: string, cause: unknown): string | undefined {
  const { status, code } = failureOf(cause);
  if (status === undefined || ofOneObject.has(status)) return undefined;
  if (!writes.has(operation) && isTransient(cause)) return undefined;
  const verb = status < 500 || status === 501 ? 'refuses' : 'fails at';
  return `S3 ${verb} ${operation} (${status} ${code}): check the rights of the key, and what this server supports`;
}

const tooSkewed = 'RequestTimeTooSkewed';
const wrongClock =
  'The clock of this server is wrong, so that the object store refuses its requests (RequestTimeTooSkewed)';
const noRights = 'S3 refuses this key access to the bucket: check its rights';
const keyProblem = 'S3 refuses the access key: check S3_ACCESS_KEY_ID';
const problems: Readonly<Record<string, string>> = {
  InvalidAccessKeyId: keyProblem,
  SignatureDoesNotMatch: 'S3 refuses the secret key: check S3_SECRET_ACCESS_KEY',
  ExpiredToken: 'S3 refuses the credentials: they have expired',
  InvalidToken: keyProblem,
  RequestTimeTooSkewed: 'S3 refuses the time of this machine: set its clock',
  NoSuchBucket: 'the bucket does not exist: check S3_BUCKET',
  CredentialsProviderError: 'there are no credentials for S3: set S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY',
};

/** The wrong setting that makes S3 refuse every request; undefined: there is none. */
function problemOf(cause: unknown): string | undefined {
  const { status, code, bucketRegion } = failureOf(cause);
  if (!isMoved(status) && code !== 'AuthorizationHeaderMalformed') return problems[code];
  return `the bucket is in ${bucketRegion === undefined ? 'another region' : `the region ${bucketRegion}`}: check S3_REGION`;
}

function isMoved(status: number | undefined): boolean {
  return status !== undefined && status >= 300 && status < 400;
}
