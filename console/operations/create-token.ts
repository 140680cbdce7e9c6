import { type ReadLimitsOfToken, readLimitsOf } from '#auth/access-tokens.ts';
import { invalidBody, quotaExceeded } from '#kernel/errors/catalogue.ts';
import { covers, type Grants, readGrants } from '#kernel/grants.ts';
import { nameProblem } from '#kernel/ids/slug.ts';
import { KeyedLock } from '#kernel/limits/keyed-lock.ts';
import { readFields } from '../accounts/credentials.ts';
import { assertCovers } from '../accounts/memberships.ts';
import { notAMember } from '../sessions/sessions.ts';
import { type ConsoleDeps, jsonAnswer, type ManagerHandler } from './console-call.ts';
import { endOf, tokenJson } from './list-tokens.ts';

/** Most active access tokens of an account. */
export const tokensPerAccount = 500;
const longestLifetime = 10 * 366 * 24 * 3_600_000;
// RFC 3339 section 5.6, with seconds
const dateTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/i;

/** POST /_console_/api/tokens: a new access token, which only this answer contains. */
export function createTokenOperation(): ManagerHandler {
  const lock = new KeyedLock();
  return async ({ request, session, acting, body }, { tokens, tokenCheck, readLimits, members }) => {
    const token = readToken(await body(), readLimits);
    assertCovers(acting, token.grants, 'The token');
    const userId = acting.account.id;
    const madeBy = session.account.id === userId ? undefined : session.account.id;
    const made = await lock.run(
      userId,
      async () => {
        const live = (await tokens.list(userId)).filter((other) => endOf(other) > Date.now());
        if (live.length >= tokensPerAccount) throw quotaExceeded(`${tokensPerAccount} access tokens`);
        return tokens.create({ userId, ...token, madeBy });
      },
      request.signal,
    );
    const member = madeBy === undefined ? null : await members.find(userId, madeBy, request.signal);
    // whoever removes the member revokes the tokens that are there: this one may have come after that
    if (madeBy !== undefined && (member === null || !covers(member.grants, token.grants))) {
      await tokens.revoke(made.stored);
      throw notAMember();
    }
    await tokenCheck.invalidate(made.stored.hash);
    return jsonAnswer(201, { token: made.token, ...tokenJson(made.stored, null) });
  };
}

interface TokenRequest {
  readonly name: string;
  readonly expiresAt: Date | null;
  readonly limits: ReadLimitsOfToken | undefined;
  readonly grants: Grants | undefined;
}

function readToken(body: unknown, most: ConsoleDeps['readLimits']): TokenRequest {
  const { name, expiresAt = null, readMaxRows = null, readTimeoutMs = null, ...more } = readFields(body);
  const problems: string[] = [];
  const nameIs = typeof name === 'string' ? nameProblem(name) : 'should be a text';
  if (nameIs !== null) problems.push(`name ${nameIs}`);
  const expiry = expiresAt === null ? null : readExpiry(expiresAt);
  if (typeof expiry === 'string') problems.push(expiry);
  const maxRows = readLimit('readMaxRows', readMaxRows, [1, most.maxRows], problems);
  const timeout = readLimit('readTimeoutMs', readTimeoutMs, [100, most.timeout], problems);
  const grants = readGrants(more.grants, problems);
  if (problems.length > 0) throw invalidBody(problems);
  const limits = readLimitsOf(maxRows, timeout);
  return { name: name as string, expiresAt: expiry as Date | null, limits, grants };
}

/** A token may not exceed the operator's limits. */
function readLimit(
  name: string,
  value: unknown,
  [min, max]: readonly [min: number, max: number],
  problems: string[],
): number | null {
  if (value === null) return null;
  if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max) return value as number;
  problems.push(`${name} should be a whole number from ${min} to ${max}, or null`);
  return null;
}

/** The time, or the problem with it. */
function readExpiry(value: unknown): Date | string {
  const time = typeof value === 'string' && dateTime.test(value) ? new Date(value) : null;
  if (time === null || Number.isNaN(time.getTime())) {
    return 'expiresAt should be a time such as 2030-01-31T12:00:00Z, or null';
  }
  const lifetime = time.getTime() - Date.now();
  return lifetime > 0 && lifetime <= longestLifetime
    ? time
    : 'expiresAt should be in the future, within ten years';
}
