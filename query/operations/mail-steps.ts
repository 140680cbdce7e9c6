import { invalidBody } from '#kernel/errors/catalogue.ts';
import type { ErrorCode } from '#kernel/errors/error-codes.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import { exactObject, named, type Schema } from '#kernel/json/schema.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { isObject } from '#records/types/is-object.ts';
import { addressOwner } from '#server/http/address-owner.ts';
import type { HttpRequest, HttpResponse } from '#server/http/http-types.ts';
import { noStoreJson } from '#server/http/no-store-json.ts';
import { jsonAnswer } from '#server/openapi/api-operation.ts';
import type { MailProof } from '../login/sign-up-users.ts';

/** The answers of the two steps: the same for every address. */
export const sent: HttpResponse = { ...noStoreJson({ state: 'sent' }), status: 202 };
export const done: HttpResponse = noStoreJson({ state: 'done' });

export const mailStep: Schema = named(
  'MailStep',
  exactObject({ state: { type: 'string', enum: ['sent', 'done'] } }),
);

export const mailAnswers = {
  200: jsonAnswer('Done', mailStep),
  202: jsonAnswer('A mail is sent, if the address has a user', mailStep),
};

export const mailErrors: readonly ErrorCode[] = [
  'invalid_value',
  'not_allowed',
  'rate_limited',
  'not_implemented',
  'unavailable',
];

/** What a request brings from a mail, or the address that it wants a mail for. */
export type MailRequest = MailProof | { readonly email: string };

const longest = 1000;

/**
 * Reads the body of a function that works by mail: `{email}`, `{token}` or `{email, code}`. Throws a 400 that lists every
 * problem. @param more further keys that come with a proof
 */
export function readMailRequest(
  body: unknown,
  more: readonly string[],
): MailRequest & { readonly given: Readonly<Record<string, unknown>> } {
  if (!isObject(body)) throw invalidBody('Request body should be a JSON object');
  const problems: string[] = [];
  const keys = ['email', 'token', 'code', ...more];
  for (const key of Object.keys(body))
    if (!keys.includes(key))
      problems.push(`Body field: ${shownName(key)} is not known, only ${keys.join(', ')}`);
  const read = (key: string): string | undefined => {
    const value = body[key];
    if (value === undefined) return undefined;
    if (typeof value === 'string' && value.length <= longest && value.isWellFormed()) return value;
    problems.push(`Value for Body field: '${key}' should be a text of up to ${longest} characters`);
    return undefined;
  };
  const [email, token, code] = [read('email'), read('token'), read('code')];
  const isProof = token !== undefined || code !== undefined;
  if (token !== undefined && (email !== undefined || code !== undefined))
    problems.push('A token is sent without email and code');
  if (token === undefined && email === undefined) problems.push('Send email, or token, or email and code');
  for (const key of more)
    if ((body[key] !== undefined) !== isProof)
      problems.push(
        isProof ? `Body field: '${key}' is missing` : `Body field: '${key}' needs a token or a code`,
      );
  if (problems.length > 0) throw invalidBody(problems);
  if (token !== undefined) return { token, given: body };
  return { email: email as string, ...(code === undefined ? {} : { code }), given: body };
}

/** Who asks for a mail; null: a server, which is not a page of the application. */
export function senderOf({ address }: HttpRequest, { bound }: RecordSpace): string | null {
  return bound === undefined ? null : addressOwner(address);
}
