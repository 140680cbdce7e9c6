import { type ConsoleHandler, sessionAnswer } from './console-call.ts';

/** GET /_console_/api/session: the account, and what a page needs to know without one. */
export const getSession: ConsoleHandler = ({ session }, deps) => sessionAnswer(200, session, deps);
