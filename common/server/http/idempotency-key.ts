import { invalidHeader } from '#kernel/errors/catalogue.ts';
import type { ErrorCode } from '#kernel/errors/error-codes.ts';
import type { ApiHeader, ApiParameter } from '../openapi/api-operation.ts';
import type { HttpRequest } from './http-types.ts';

const longestKey = 255;
const keyPattern = new RegExp(`^[\\x20-\\x7e]{1,${longestKey}}$`);

/** Header of an answer that repeats the answer to an earlier request. */
export const replayedHeader = { 'idempotent-replayed': 'true' } as const;

/**
 * The key of a request that may be retried; undefined: it has none. Throws 400 for an invalid key.
 * https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-idempotency-key-header
 */
export function readIdempotencyKey(request: Pick<HttpRequest, 'header'>): string | undefined {
  const text = request.header('idempotency-key');
  if (text === undefined) return undefined;
  // RFC 9651 puts a string in quotes; most clients omit them
  const key = text.length > 1 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text;
  if (keyPattern.test(key)) return key;
  throw invalidHeader([`The header Idempotency-Key should have 1 to ${longestKey} characters of ASCII`]);
}

export const keyErrors: readonly ErrorCode[] = ['invalid_header', 'idempotency_key_reused'];

export const keyParameter: ApiParameter = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'Makes it safe to send the request again: for a day the same key of an account gets the same answer, and nothing is stored twice',
  schema: { type: 'string', minLength: 1, maxLength: longestKey },
  example: '6f1f6b0e-5c1d-4e0e-9a44-0f8a3c1b7d21',
};

export const replayedHeaders: Readonly<Record<string, ApiHeader>> = {
  'Idempotent-Replayed': {
    description:
      '`true`: an earlier request with this `Idempotency-Key` was carried out, and this is its answer',
    schema: { type: 'string', enum: ['true'] },
  },
};
