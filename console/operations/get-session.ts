import { type ConsoleHandler, sessionAnswer } from './console-call.ts';

/** GET /_console_/api/session: who this is, and what a page without a session needs to know. */
export const getSession: ConsoleHandler = ({ session }, deps) => sessionAnswer(200, session, deps);
