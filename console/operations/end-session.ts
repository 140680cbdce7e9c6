import { notFound } from '#kernel/errors/catalogue.ts';
import { emptyAnswer, type SessionHandler } from './console-call.ts';
import { sessionId } from './list-sessions.ts';

/** DELETE /_console_/api/sessions/{id}: ends a session of the user, with its access tokens. */
export const endSession: SessionHandler = async ({ request, session }, { sessions, cookie }) => {
  const { id, version } = session.account;
  const all = await sessions.list(id, version, request.signal);
  const found = all.find((other) => sessionId(other) === request.params.id);
  if (found === undefined) throw notFound('There is no such session');
  await sessions.end({ session: found });
  const isCurrent = found.hash === session.session.hash;
  return emptyAnswer(isCurrent ? { 'set-cookie': cookie.clear(request) } : {});
};

/** DELETE /_console_/api/sessions: ends all sessions of the user but this one. */
export const endOtherSessions: SessionHandler = async ({ request, session }, { sessions }) => {
  const { id, version } = session.account;
  const all = await sessions.list(id, version, request.signal);
  for (const other of all) if (other.hash !== session.session.hash) await sessions.end({ session: other });
  return emptyAnswer();
};
