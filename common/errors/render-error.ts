import { ApiError } from './api-error.ts';
import { internalError } from './catalogue.ts';

/** The one error body of the service; see the "Errors" section of docs/api.md. */
export interface ErrorBody {
  statusCode: number;
  code: string;
  message: string;
  error: readonly string[];
  path: string;
  timestamp: string;
  requestId: string;
}

/** What a client may see of a thrown value: an ApiError as it is, anything else as a bare internal error. */
export function visibleError(thrown: unknown): ApiError {
  return thrown instanceof ApiError ? thrown : internalError(thrown);
}

export function renderError(error: ApiError, request: { path: string; id: string }): string {
  const body: ErrorBody = {
    statusCode: error.status,
    code: error.code,
    message: error.message,
    error: error.problems,
    path: request.path,
    timestamp: new Date().toISOString(),
    requestId: request.id,
  };
  return JSON.stringify(body);
}
