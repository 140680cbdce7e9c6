import { jsonAnswer, type SessionHandler } from './console-call.ts';

/** POST /_console_/api/token: an access token that the web app keeps in memory; it ends with the session. */
export const issueSessionToken: SessionHandler = async ({ request, session }, { sessions }) => {
  const { token, expiresAt } = await sessions.issueToken(session, request.signal);
  return jsonAnswer(200, { token, expiresAt: expiresAt.toISOString() });
};
