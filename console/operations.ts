import type { Route } from '../common/http/http-types.ts';
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

/** A line of the table of operations. What is no GET is a change, and has to come from a page of the dashboard. */
export type ConsoleOperation = Pick<Route, 'method' | 'path'> & {
  readonly operation: string;
} & (
    | { readonly needs: 'nothing'; readonly run: ConsoleHandler }
    | { readonly needs: 'session'; readonly run: SessionHandler }
  );

const api = '/_console_/api';

/**
 * All operations of the dashboard's own API, about accounts, sessions and access tokens. It is for its pages alone, so
 * the description of the API leaves it out. All else is done by the public API.
 */
export const consoleOperations = (): readonly ConsoleOperation[] => [
  {
    ...{ method: 'GET', path: `${api}/session`, operation: 'getDashboardSession' },
    ...{ needs: 'nothing', run: getSession },
  },
  {
    ...{ method: 'POST', path: `${api}/register`, operation: 'registerAccount' },
    ...{ needs: 'nothing', run: register },
  },
  {
    ...{ method: 'POST', path: `${api}/login`, operation: 'logInToDashboard' },
    ...{ needs: 'nothing', run: logIn },
  },
  {
    ...{ method: 'POST', path: `${api}/logout`, operation: 'logOutOfDashboard' },
    ...{ needs: 'session', run: logOut },
  },
  {
    ...{ method: 'POST', path: `${api}/password`, operation: 'changePassword' },
    ...{ needs: 'session', run: changePassword },
  },
  {
    ...{ method: 'POST', path: `${api}/token`, operation: 'issueSessionToken' },
    ...{ needs: 'session', run: issueSessionToken },
  },
  {
    ...{ method: 'GET', path: `${api}/tokens`, operation: 'listAccessTokens' },
    ...{ needs: 'session', run: listTokens },
  },
  {
    ...{ method: 'POST', path: `${api}/tokens`, operation: 'createAccessToken' },
    ...{ needs: 'session', run: createTokenOperation() },
  },
  {
    ...{ method: 'DELETE', path: `${api}/tokens/:id`, operation: 'revokeAccessToken' },
    ...{ needs: 'session', run: revokeToken },
  },
];
