import { notFound, unavailable } from '#kernel/errors/catalogue.ts';
import { assertCovers } from '../accounts/memberships.ts';
import { emptyAnswer, type ManagerHandler } from './console-call.ts';

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** DELETE /_console_/api/tokens/{id}. Repeating it is harmless, and invalidates the token in other processes again. */
export const revokeToken: ManagerHandler = async ({ request, acting }, { tokens, tokenCheck }) => {
  const { id = '' } = request.params;
  const token = uuid.test(id) ? await tokens.findById(id, request.signal) : null;
  if (token === null || token.userId !== acting.account.id) throw notFound('There is no such access token');
  assertCovers(acting, token.grants, 'The token');
  if (token.revokedAt === null) await tokens.revoke(token);
  if (await tokenCheck.invalidate(token.hash)) return emptyAnswer();
  throw unavailable(
    'The token is revoked, but Redis did not answer: processes that do reach it may accept the token for up to 70 seconds',
  );
};
