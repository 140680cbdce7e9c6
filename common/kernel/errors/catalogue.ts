import { ApiError } from './api-error.ts';
import type { ErrorCode } from './error-codes.ts';
import { joinedProblems } from './joined-problems.ts';

/** 400 with a machine code; the message joins all problems, `error` lists them. */
function badRequest(code: ErrorCode, problems: string | readonly string[], cause?: unknown): ApiError {
  const list = typeof problems === 'string' ? [problems] : problems;
  return new ApiError(code, joinedProblems(list) || 'Bad Request', { problems: list, cause });
}

// 400: the client's input
export const malformedRequest = (problem: string, cause?: unknown) =>
  badRequest('malformed_request', problem, cause);
export const invalidSlug = (problems: readonly string[]) => badRequest('invalid_slug', problems);
export const missingStructure = () =>
  badRequest(
    'missing_structure',
    'Please set structure in Request Header, or use-pre-stored-structure: true for the stored one',
  );
export const invalidStructure = (problems: readonly string[]) => badRequest('invalid_structure', problems);
export const structureConflict = (problems: readonly string[]) => badRequest('structure_conflict', problems);
export const invalidHeader = (problems: readonly string[], cause?: unknown) =>
  badRequest('invalid_header', problems, cause);
export const invalidOptions = (problems: readonly string[], cause?: unknown) =>
  badRequest('invalid_options', problems, cause);
export const invalidBody = (problems: string | readonly string[], cause?: unknown) =>
  badRequest('invalid_body', problems, cause);
export const invalidValue = (problems: readonly string[]) => badRequest('invalid_value', problems);
export const invalidCondition = (problems: readonly string[]) => badRequest('invalid_condition', problems);
/** @param reason the rest of a sentence about the file */
export const unreadableFile = (reason: string, cause?: unknown) =>
  badRequest('unreadable_file', `The file cannot be read as a table: ${reason}`, cause);
export const noConditions = () =>
  badRequest(
    'no_conditions',
    'At least one condition is required: without any, the request would change or delete arbitrary records',
  );
export const allMeant = () =>
  badRequest(
    'no_conditions',
    'The conditions match every record of the space: add a narrower one, or send "all": true if you mean all of them',
  );
export const noMatch = (problem: string) => badRequest('no_match', problem);
export const notUnique = (problems: readonly string[]) => badRequest('not_unique', problems);
export const clearNotAllowed = (what: string) =>
  badRequest(
    'clear_not_allowed',
    `${what} would delete stored records and is not allowed here; set ALLOW_CLEAR_ALL_SPACES=true to permit it`,
  );
export const wrongContentType = (wanted: string) =>
  badRequest('wrong_content_type', `Content-Type should be ${wanted}`);
export const invalidMultipart = (problem: string, cause?: unknown) =>
  badRequest('invalid_multipart', problem, cause);
/** @param headers names of the headers, or properties, whose checksum does not match */
export const checksumMismatch = (headers: readonly string[]) =>
  badRequest('checksum_mismatch', `The file does not match the checksum in ${headers.join(' and ')}`);
/** @param sign the header that marks a chunk */
export const chunksUnsupported = (sign: string) =>
  badRequest(
    'chunks_unsupported',
    `This request holds a chunk of a file (${sign}), and would be stored as a file: send the whole file in one request, or its chunks by tus to /_f_/{project}/resumable`,
  );
export const missingFilePart = () =>
  badRequest(
    'missing_file_part',
    'The form data has no file part: send the file, with a file name, as the part named "file"',
  );

// 401, 403
export const unauthorized = (message: string) =>
  new ApiError('unauthorized', message, { headers: { 'www-authenticate': 'Bearer' } });
export const notGranted = (lack: string) => new ApiError('not_granted', lack);
export const invalidRules = (
  problems: readonly string[],
  message = 'The rules do not fit the record space',
) => new ApiError('invalid_rules', message, { problems });
export const notVerified = () =>
  new ApiError('not_verified', 'The e-mail address has to be verified before the first login');
export const notAllowed = (problem: string) => new ApiError('not_allowed', problem);
export const httpsRequired = () =>
  new ApiError(
    'https_required',
    'HTTPS is required for all requests: the server needs TLS_CERT_FILE and TLS_KEY_FILE, or TRUSTED_PROXIES with the proxy that terminates HTTPS',
  );
export const unknownHost = () =>
  new ApiError(
    'unknown_host',
    'The Host header names no host of this server: ALLOWED_HOSTS lists hosts in addition to the host of PUBLIC_URL',
  );

export const csrfRefused = (message: string) => new ApiError('csrf_refused', message);
export const registrationRefused = (
  message = 'No account was created: registration is closed here, or these details cannot be used',
) => new ApiError('registration_refused', message);
/** @param problem a sentence */
export const membershipRefused = (problem: string) => new ApiError('membership_refused', problem);
/** The same whether the address is taken or can't be used. */
export const emailRefused = () =>
  new ApiError('email_refused', "This address can't be used. Yours has not changed.");
export const wrongPassword = (message = 'The current password is wrong') =>
  new ApiError('wrong_password', message);
export const linkRefused = (message = 'The link has expired or is not valid') =>
  new ApiError('link_refused', message);
/** @param limit of an account */
export const tooManySpaces = (limit: number) =>
  new ApiError('too_many_spaces', `The account already has ${limit} record spaces, which is its limit`);
/** @param limit of an account */
export const tooManyProjects = (limit: number) =>
  new ApiError('too_many_projects', `The account already has ${limit} projects, which is its limit`);
/** @param limit of an account */
export const tooManyUploads = (limit: number) =>
  new ApiError(
    'too_many_uploads',
    `The account already has ${limit} incomplete uploads, which is its limit (MAX_OPEN_UPLOADS): complete or delete some, or wait until they expire`,
  );
/** @param what the limit, in words */
export const quotaExceeded = (what: string) =>
  new ApiError('quota_exceeded', `The account may not store more than ${what}`);

// 404, 405, 408, 409, 410, 412, 413, 415, 416, 422, 429, 431, 460
export const notFound = (message: string) => new ApiError('not_found', message);
export const nothingHere = () => notFound('There is nothing at this address');
export const projectNotFound = (slug: string) =>
  new ApiError('project_not_found', `Project '${slug}' does not exist, and auto-create-project is false`);
export const noSuchProject = (slug: string) =>
  new ApiError('project_not_found', `Project ${JSON.stringify(slug.slice(0, 80))} does not exist`);
export const recordSpaceNotFound = (slug: string, reason: string) =>
  new ApiError('record_space_not_found', `Record space '${slug}' does not exist${reason}`);
/** @param more further headers of the answer */
export const methodNotAllowed = (
  method: string,
  allow: readonly string[],
  more: Readonly<Record<string, string>> = {},
) =>
  new ApiError('method_not_allowed', `${method} is not allowed here; use ${allow.join(', ')}`, {
    headers: { ...more, allow: allow.join(', ') },
  });
/** @param limit bytes */
export const headersTooLarge = (size: number, limit: number) =>
  new ApiError(
    'headers_too_large',
    `The request line and the headers have ${size} bytes; the limit is ${limit}`,
  );
export const requestTimeout = (message: string) => new ApiError('request_timeout', message);
export const projectHasFiles = (slug: string) =>
  new ApiError(
    'project_has_files',
    `Project ${JSON.stringify(slug.slice(0, 80))} has files: delete them first`,
  );
export const fileInUse = () =>
  new ApiError(
    'file_in_use',
    'A record names the file: delete the record, or its value, and the file goes with it',
  );
export const fileExists = () =>
  new ApiError(
    'file_exists',
    'The folder has a file at this path: send If-Match with its ETag to replace it, or choose another path',
  );
/** @param offset where the upload is */
export const uploadConflict = (message: string, offset?: number) =>
  new ApiError('upload_conflict', message, {
    ...(offset !== undefined && { headers: { 'upload-offset': `${offset}` } }),
  });
/** @param problems how the parts in the object store differ from the plan */
export const uploadIncomplete = (problems: readonly string[]) =>
  new ApiError('upload_conflict', 'The object store does not have the file as it was planned', { problems });
export const finalUpload = () =>
  new ApiError(
    'final_upload',
    'This file is a concatenation of partial uploads: no bytes can be appended to it',
  );
export const uploadExpired = () =>
  new ApiError('upload_expired', 'The upload was idle for too long and has expired: start it again');
export const fileExpired = () => new ApiError('file_expired', 'The file has expired');
/** @param version the supported version */
export const unsupportedVersion = (version: string) =>
  new ApiError('unsupported_version', `The header Tus-Resumable should be ${version}`, {
    headers: { 'tus-version': version },
  });
/** @param header the header whose condition is false */
export const preconditionFailed = (header: string) =>
  new ApiError('precondition_failed', `The file does not meet the condition of ${header}: nothing was done`);
export const unsupportedMediaType = (wanted: string, headers?: Readonly<Record<string, string>>) =>
  new ApiError('unsupported_media_type', `Content-Type should be ${wanted}`, {
    ...(headers !== undefined && { headers }),
  });
/** @param known codings, as `Accept-Encoding` lists them; empty: the body stays as it was sent */
export const unsupportedCoding = (known: string) =>
  new ApiError(
    'unsupported_media_type',
    known === ''
      ? 'A file is stored as it is sent: the body should have no Content-Encoding'
      : `Content-Encoding should be one of ${known}`,
    // RFC 9110 section 15.5.16
    { headers: { 'accept-encoding': known || 'identity' } },
  );
/** @param reason the name of the signature that the scanner found; undefined: it is not known any more */
export const fileRefused = (reason?: string) =>
  new ApiError(
    'file_refused',
    `The virus scanner refuses the file${reason === undefined ? '' : ` (${reason})`}: nobody can download it`,
  );
/** @param reason the rest of a sentence about the file */
export const invalidImage = (reason: string, cause?: unknown) =>
  new ApiError('invalid_image', `No picture can be made of the file: ${reason}`, { cause });
/** @param problem the limit, and a remedy */
export const queryTooExpensive = (problem: string, cause?: unknown) =>
  new ApiError('query_too_expensive', `The query ${problem}`, { cause });
export const chunkChecksumMismatch = () =>
  new ApiError(
    'chunk_checksum_mismatch',
    'The request body does not match Upload-Checksum, and was discarded',
  );
/** @param limit bytes @param what the limited thing, such as "File" or "Request body" */
export const payloadTooLarge = (limit: number, what: string) =>
  new ApiError('payload_too_large', `${what} exceeds the size limit of ${limit} bytes`);
/** @param limit bytes */
export const tooLargeToScan = (limit: number) =>
  new ApiError(
    'payload_too_large',
    `The file is larger than the virus scanner takes, which is at most ${limit} bytes: it was not stored`,
  );
/** @param limits of records, and of their bytes */
export const tooManyRecords = (count: number, limit: number, bytes: number) =>
  new ApiError(
    'too_many_records',
    `The find has ${count} records; a live query has at most ${limit} with ${bytes} bytes in total: narrow it by conditions`,
  );
export const rangeNotSatisfiable = (size: number) =>
  new ApiError('range_not_satisfiable', `The requested range lies outside the file of ${size} bytes`, {
    headers: { 'content-range': `bytes */${size}` },
  });
export const idempotencyKeyInUse = () =>
  new ApiError(
    'idempotency_key_in_use',
    'Another request with this Idempotency-Key is still running: try again when it has finished',
    { headers: { 'retry-after': '1' } },
  );
export const idempotencyKeyReused = () =>
  new ApiError(
    'idempotency_key_reused',
    'This Idempotency-Key was sent with another request: use a new key for each',
  );
/** @param wait seconds until another attempt is checked */
export const tooManyAttempts = (wait: number) =>
  new ApiError('too_many_attempts', `Too many failed attempts to log in: try again in ${wait} s`, {
    headers: { 'retry-after': String(wait) },
  });

/** @param wait milliseconds until another request would be admitted */
export const rateLimited = (wait: number) => {
  const seconds = Math.max(1, Math.ceil(wait / 1000));
  return new ApiError('rate_limited', `Too many requests: try again in ${seconds} s`, {
    headers: { 'retry-after': String(seconds) },
  });
};

/** @param whose limit it is */
export const tooManyStreams = (whose: string, limit: number) =>
  new ApiError(
    'too_many_streams',
    `There are already ${limit} live queries of ${whose}, which is the limit`,
    {
      headers: { 'retry-after': '5' },
    },
  );

// 5xx
export const internalError = (cause?: unknown) =>
  new ApiError('internal_error', 'Internal server error', { cause });
/** Not a 503: a client that simply retries a write may apply it twice. */
export const outcomeUnknown = (cause: unknown) =>
  new ApiError(
    'outcome_unknown',
    'A write to the database was interrupted and may or may not have taken effect: check whether it did, or send the request again with the same Idempotency-Key',
    { cause },
  );
export const notImplemented = (what: string) => new ApiError('not_implemented', `${what} is not implemented`);
export const cantSendMail = () =>
  new ApiError(
    'not_implemented',
    "This server can't send e-mail: set SMTP_URL, or signUp.webhook in the rules",
  );
export const shuttingDown = () => new ApiError('shutting_down', 'The server is shutting down; try again');
export const overloaded = (what: string, cause?: unknown) =>
  new ApiError('overloaded', `The server is busy: ${what}; try again`, { cause });
/** Something that this request needs, unlike others, does not respond. */
export const unavailable = (what: string, cause?: unknown) =>
  new ApiError('unavailable', `${what}; try again`, { cause });
/** @param limit milliseconds */
export const deadlineExceeded = (limit: number, cause?: unknown) =>
  new ApiError('deadline_exceeded', `The request did not finish within ${limit} ms`, { cause });
export const databaseUnavailable = (cause: unknown) =>
  new ApiError('not_ready', 'The database does not answer; try again', { cause });
/** There is no disk space for the request's write, or for earlier writes that must reach the table first. */
export const storageFull = (cause?: unknown) =>
  new ApiError('storage_full', 'The disk of the server is full', { cause });
export const notReady = (problems: readonly string[]) =>
  new ApiError('not_ready', joinedProblems(problems) || 'Not ready', { problems });
export const stillStarting = () => notReady(['The server is starting; try again']);
