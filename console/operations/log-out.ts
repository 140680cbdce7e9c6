import { emptyAnswer, type SessionHandler } from './console-call.ts';

/** POST /_console_/api/logout: ends the session and its access tokens. */
export const logOut: SessionHandler = async ({ request, session }, { sessions, cookie }) => {
  await sessions.end(session);
  return emptyAnswer({ 'set-cookie': cookie.clear(request) });
};
