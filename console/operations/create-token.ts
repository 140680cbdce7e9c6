import { invalidBody, quotaExceeded } from '../../common/errors/catalogue.ts';
import { KeyedLock } from '../../common/limits/keyed-lock.ts';
import { nameProblem } from '../../common/metadata/slug.ts';
import { readFields } from '../accounts/credentials.ts';
import { jsonAnswer, type SessionHandler } from './console-call.ts';
import { endOf, tokenShown } from './list-tokens.ts';

/** Access tokens of an account that have not ended. */
export const tokensPerAccount = 500;
const longestLife = 10 * 366 * 24 * 3_600_000;
// RFC 3339 section 5.6, with its seconds
const dateTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/i;

/** POST /_console_/api/tokens: an access token, which is in this answer and nowhere else. */
export function createTokenOperation(): SessionHandler {
  const lock = new KeyedLock();
  return async ({ request, session, body }, { tokens, tokenCheck }) => {
    const { name, expiresAt } = readToken(await body());
    const userId = session.account.id;
    const { token, stored } = await lock.run(
      userId,
      async () => {
        const live = (await tokens.list(userId)).filter((other) => endOf(other) > Date.now());
        if (live.length >= tokensPerAccount) throw quotaExceeded(`${tokensPerAccount} access tokens`);
        return tokens.create({ userId, name, expiresAt });
      },
      request.signal,
    );
    await tokenCheck.invalidate(stored.hash);
    return jsonAnswer(201, { token, ...tokenShown(stored, null) });
  };
}

function readToken(body: unknown): { readonly name: string; readonly expiresAt: Date | null } {
  const { name, expiresAt = null } = readFields(body);
  const problems: string[] = [];
  if (typeof name !== 'string') problems.push('name should be a text');
  else {
    const problem = nameProblem(name);
    if (problem !== null) problems.push(`name ${problem}`);
  }
  const expiry = expiresAt === null ? null : readExpiry(expiresAt);
  if (typeof expiry === 'string') problems.push(expiry);
  if (problems.length > 0) throw invalidBody(problems);
  return { name: name as string, expiresAt: expiry as Date | null };
}

/** The time, or its problem. */
function readExpiry(value: unknown): Date | string {
  const time = typeof value === 'string' && dateTime.test(value) ? new Date(value) : null;
  if (time === null || Number.isNaN(time.getTime())) {
    return 'expiresAt should be a time such as 2030-01-31T12:00:00Z, or null';
  }
  const life = time.getTime() - Date.now();
  return life > 0 && life <= longestLife ? time : 'expiresAt should be in the future, within ten years';
}
