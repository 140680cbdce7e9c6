import { notFound, unavailable } from '#kernel/errors/catalogue.ts';
import { emptyAnswer, type SessionHandler } from './console-call.ts';

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** DELETE /_console_/api/tokens/{id}. Repeating it is harmless, and invalidates the token in other processes again. */
export const revokeToken: SessionHandler = async ({ request, session }, { tokens, tokenCheck }) => {
  const { id = '' } = request.params;
  const token = uuid.test(id) ? await tokens.findById(id, request.signal) : null;
  if (token === null || token.userId !== session.account.id) throw notFound('There is no such access token');
  if (token.revokedAt === null) await tokens.revoke(token);
  if (await tokenCheck.invalidate(token.hash)) return emptyAnswer();
  throw unavailable(
    'The token is revoked, but Redis did not answer: processes that do reach it may accept the token for up to 70 seconds',
  );
};
