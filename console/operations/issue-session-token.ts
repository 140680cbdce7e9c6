import { jsonAnswer, type SessionHandler } from './console-call.ts';

/** POST /_console_/api/token: an access token for the memory of the web app, which ends with the session. */
export const issueSessionToken: SessionHandler = async ({ request, session }, { sessions }) => {
  const { token, expiresAt } = await sessions.issueToken(session, request.signal);
  return jsonAnswer(200, { token, expiresAt: expiresAt.toISOString() });
};
