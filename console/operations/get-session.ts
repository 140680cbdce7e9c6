import { type ConsoleHandler, sessionAnswer } from './console-call.ts';

/** GET /_console_/api/session: the person, and the facts that a page without a session needs. */
export const getSession: ConsoleHandler = ({ session }, deps) => sessionAnswer(200, session, deps);
