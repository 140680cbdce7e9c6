/** What stands behind a machine code: its status, and a short title that is the same for every answer that has it. */
export interface ErrorKind {
  readonly status: number;
  readonly title: string;
}

/** Every machine code of an answer, in the order of its status. The factories of catalogue.ts make the errors. */
export const errorCodes = {
  malformed_request: { status: 400, title: 'The request is malformed' },
  invalid_slug: { status: 400, title: 'A slug of the path is not valid' },
  missing_structure: { status: 400, title: 'There is no structure header' },
  invalid_structure: { status: 400, title: 'The structure is not valid' },
  structure_conflict: { status: 400, title: 'The structure does not fit what is stored' },
  invalid_header: { status: 400, title: 'A header is not valid' },
  invalid_options: { status: 400, title: 'The options header is not valid' },
  invalid_body: { status: 400, title: 'The request body is not valid' },
  invalid_value: { status: 400, title: 'A value of the body does not fit its field' },
  invalid_condition: { status: 400, title: 'A query parameter is not valid' },
  no_conditions: { status: 400, title: 'An update has no conditions' },
  no_match: { status: 400, title: 'No record matches' },
  not_unique: { status: 400, title: 'A value of a unique field is taken' },
  clear_not_allowed: { status: 400, title: 'Deleting all records is not allowed here' },
  wrong_content_type: { status: 400, title: 'The content type is not the expected one' },
  invalid_multipart: { status: 400, title: 'The form data is not valid' },
  missing_file_part: { status: 400, title: 'The form data has no file' },
  chunks_unsupported: { status: 400, title: 'The form holds a chunk of a file' },
  checksum_mismatch: { status: 400, title: 'The file does not match its checksum' },
  unauthorized: { status: 401, title: 'A token is missing or not valid' },
  https_required: { status: 403, title: 'HTTPS is required' },
  unknown_host: { status: 403, title: 'The server is not known by this name' },
  csrf_refused: { status: 403, title: 'The request does not come from a page of this session' },
  registration_refused: { status: 403, title: 'No account was created' },
  wrong_password: { status: 403, title: 'The current password is wrong' },
  link_refused: { status: 403, title: 'The link has expired or is not one of ours' },
  too_many_spaces: { status: 403, title: 'The account has reached its number of record spaces' },
  too_many_projects: { status: 403, title: 'The account has reached its number of projects' },
  quota_exceeded: { status: 403, title: 'The account has reached its quota' },
  not_found: { status: 404, title: 'There is nothing at this address' },
  project_not_found: { status: 404, title: 'The project does not exist' },
  record_space_not_found: { status: 404, title: 'The record space does not exist' },
  method_not_allowed: { status: 405, title: 'The method is not allowed here' },
  request_timeout: { status: 408, title: 'The request took too long' },
  project_has_files: { status: 409, title: 'The project has files' },
  payload_too_large: { status: 413, title: 'The request body is too large' },
  range_not_satisfiable: { status: 416, title: 'The range lies outside the file' },
  too_many_attempts: { status: 429, title: 'Too many failed attempts to log in' },
  rate_limited: { status: 429, title: 'Too many requests' },
  headers_too_large: { status: 431, title: 'The header block is too large' },
  internal_error: { status: 500, title: 'Internal server error' },
  not_implemented: { status: 501, title: 'This is not implemented' },
  shutting_down: { status: 503, title: 'The server is shutting down' },
  overloaded: { status: 503, title: 'The server is busy' },
  unavailable: { status: 503, title: 'A service that the request needs does not answer' },
  deadline_exceeded: { status: 503, title: 'The request was not done in time' },
  not_ready: { status: 503, title: 'The server is not ready' },
  storage_full: { status: 507, title: 'The disk of the server is full' },
} as const satisfies Readonly<Record<string, ErrorKind>>;

export type ErrorCode = keyof typeof errorCodes;
