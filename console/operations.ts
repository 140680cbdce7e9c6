import type { Route } from '#server/http/http-types.ts';
import { changePassword } from './operations/change-password.ts';
import type { ConsoleHandler, SessionHandler } from './operations/console-call.ts';
import { createTokenOperation } from './operations/create-token.ts';
import { getSession } from './operations/get-session.ts';
import { issueSessionToken } from './operations/issue-session-token.ts';
import { listTokens } from './operations/list-tokens.ts';
import { logIn } from './operations/log-in.ts';
import { logOut } from './operations/log-out.ts';
import { register } from './operations/register.ts';
import { revokeToken } from './operations/revoke-token.ts';

/**
 * A row of the table of operations. A method other than GET is a change, and must come from a page of the dashboard.
 */
export type ConsoleOperation = Pick<Route, 'method' | 'path'> & {
  readonly operation: string;
} & (
    | { readonly needs: 'nothing'; readonly run: ConsoleHandler }
    | { readonly needs: 'session'; readonly run: SessionHandler }
  );

const api = '/_console_/api';
const open = { needs: 'nothing' } as const;
const own = { needs: 'session' } as const;

/**
 * All operations of the dashboard's own API, for accounts, sessions and access tokens. Only its pages use it, so
 * OpenAPI leaves it out. Everything else uses the public API.
 */
export const consoleOperations = (): readonly ConsoleOperation[] => [
  { operation: 'getDashboardSession', method: 'GET', path: `${api}/session`, ...open, run: getSession },
  { operation: 'registerAccount', method: 'POST', path: `${api}/register`, ...open, run: register },
  { operation: 'logInToDashboard', method: 'POST', path: `${api}/login`, ...open, run: logIn },
  { operation: 'logOutOfDashboard', method: 'POST', path: `${api}/logout`, ...own, run: logOut },
  { operation: 'changePassword', method: 'POST', path: `${api}/password`, ...own, run: changePassword },
  { operation: 'issueSessionToken', method: 'POST', path: `${api}/token`, ...own, run: issueSessionToken },
  { operation: 'listAccessTokens', method: 'GET', path: `${api}/tokens`, ...own, run: listTokens },
  {
    operation: 'createAccessToken',
    method: 'POST',
    path: `${api}/tokens`,
    ...own,
    run: createTokenOperation(),
  },
  { operation: 'revokeAccessToken', method: 'DELETE', path: `${api}/tokens/:id`, ...own, run: revokeToken },
];
