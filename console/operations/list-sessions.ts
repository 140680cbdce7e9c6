import type { Session } from '#auth/session-store.ts';
import { agentWords } from '../sessions/agent-words.ts';
import { jsonAnswer, type SessionHandler } from './console-call.ts';

/** GET /_console_/api/sessions: the user's sessions, the most recently used first, without anything secret. */
export const listSessions: SessionHandler = async ({ request, session }, { sessions }) => {
  const { id, version } = session.account;
  const all = await sessions.list(id, version, request.signal);
  return jsonAnswer(200, {
    sessions: all.map((other) => ({
      id: sessionId(other),
      isCurrent: other.hash === session.session.hash,
      browser: agentWords(other.agent),
      address: other.address,
      createdAt: other.createdAt.toISOString(),
      usedAt: other.usedAt.toISOString(),
    })),
  });
};

/** A part of the hash of the cookie, which tells sessions of a user apart. */
export function sessionId({ hash }: Session): string {
  return hash.slice(0, 16);
}
