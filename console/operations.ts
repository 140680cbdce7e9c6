import type { Route } from '../common/http/http-types.ts';
import type { ApiOperation } from '../common/openapi/api-operation.ts';
import { descriptions } from './describe-operations.ts';
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
  readonly api: ApiOperation;
} & (
    | { readonly needs: 'nothing'; readonly run: ConsoleHandler }
    | { readonly needs: 'session'; readonly run: SessionHandler }
  );

const api = '/_console_/api';

/** All operations of the dashboard's own API, about accounts, sessions and access tokens. All else is done by the public API. */
export const consoleOperations = (): readonly ConsoleOperation[] => [
  {
    ...{ method: 'GET', path: `${api}/session`, api: descriptions.session },
    ...{ needs: 'nothing', run: getSession },
  },
  {
    ...{ method: 'POST', path: `${api}/register`, api: descriptions.register },
    ...{ needs: 'nothing', run: register },
  },
  {
    ...{ method: 'POST', path: `${api}/login`, api: descriptions.login },
    ...{ needs: 'nothing', run: logIn },
  },
  {
    ...{ method: 'POST', path: `${api}/logout`, api: descriptions.logout },
    ...{ needs: 'session', run: logOut },
  },
  {
    ...{ method: 'POST', path: `${api}/password`, api: descriptions.password },
    ...{ needs: 'session', run: changePassword },
  },
  {
    ...{ method: 'POST', path: `${api}/token`, api: descriptions.token },
    ...{ needs: 'session', run: issueSessionToken },
  },
  {
    ...{ method: 'GET', path: `${api}/tokens`, api: descriptions.tokens },
    ...{ needs: 'session', run: listTokens },
  },
  {
    ...{ method: 'POST', path: `${api}/tokens`, api: descriptions.createToken },
    ...{ needs: 'session', run: createTokenOperation() },
  },
  {
    ...{ method: 'DELETE', path: `${api}/tokens/:id`, api: descriptions.revokeToken },
    ...{ needs: 'session', run: revokeToken },
  },
];
