import type { Route } from '#server/http/http-types.ts';
import { changeEmail, confirmEmail } from './operations/change-email.ts';
import { changePassword } from './operations/change-password.ts';
import type { ConsoleHandler, ManagerHandler, SessionHandler } from './operations/console-call.ts';
import { createTokenOperation } from './operations/create-token.ts';
import { deleteAccount } from './operations/delete-account.ts';
import { endOtherSessions, endSession } from './operations/end-session.ts';
import { enterAccount } from './operations/enter-account.ts';
import { getSession } from './operations/get-session.ts';
import {
  acceptInvitation,
  createInvitation,
  listInvitations,
  readInvitation,
  withdrawInvitation,
} from './operations/invitations.ts';
import { issueSessionToken } from './operations/issue-session-token.ts';
import { listSessions } from './operations/list-sessions.ts';
import { listTokens } from './operations/list-tokens.ts';
import { logIn } from './operations/log-in.ts';
import { beginOidc, confirmByOidc, finishOidc } from './operations/log-in-by-oidc.ts';
import { logOut } from './operations/log-out.ts';
import { changeMember, leaveAccount, listMembers, removeMember } from './operations/members.ts';
import { register } from './operations/register.ts';
import { revokeToken } from './operations/revoke-token.ts';
import { oidcCallback, oidcConfirm, oidcStart } from './sessions/oidc-login.ts';

/**
 * A row of the table of operations. A method other than GET is a change, and must come from a page of the dashboard.
 */
export type ConsoleOperation = Pick<Route, 'method' | 'path'> & {
  readonly operation: string;
} & (
    | { readonly needs: 'nothing'; readonly run: ConsoleHandler }
    | { readonly needs: 'session'; readonly run: SessionHandler }
    // the owner, or a member who manages the account that the session acts for
    | { readonly needs: 'manage'; readonly run: ManagerHandler }
  );

const api = '/_console_/api';
const open = { needs: 'nothing' } as const;
const own = { needs: 'session' } as const;
const manage = { needs: 'manage' } as const;

/**
 * All operations of the dashboard's own API, for accounts, members, sessions and access tokens. Only its pages use it, so
 * OpenAPI leaves it out. Everything else uses the public API.
 */
export const consoleOperations = (): readonly ConsoleOperation[] => [...ownOperations(), ...peopleOperations];

const ownOperations = (): readonly ConsoleOperation[] => [
  { operation: 'getDashboardSession', method: 'GET', path: `${api}/session`, ...open, run: getSession },
  { operation: 'registerAccount', method: 'POST', path: `${api}/register`, ...open, run: register },
  { operation: 'logInToDashboard', method: 'POST', path: `${api}/login`, ...open, run: logIn },
  { operation: 'beginOidcLogin', method: 'GET', path: oidcStart, ...open, run: beginOidc },
  { operation: 'confirmByOidcLogin', method: 'GET', path: oidcConfirm, ...own, run: confirmByOidc },
  { operation: 'finishDashboardOidcLogin', method: 'GET', path: oidcCallback, ...open, run: finishOidc },
  { operation: 'logOutOfDashboard', method: 'POST', path: `${api}/logout`, ...own, run: logOut },
  { operation: 'changePassword', method: 'POST', path: `${api}/password`, ...own, run: changePassword },
  { operation: 'issueSessionToken', method: 'POST', path: `${api}/token`, ...own, run: issueSessionToken },
  { operation: 'listAccessTokens', method: 'GET', path: `${api}/tokens`, ...manage, run: listTokens },
  {
    operation: 'createAccessToken',
    method: 'POST',
    path: `${api}/tokens`,
    ...manage,
    run: createTokenOperation(),
  },
  {
    operation: 'revokeAccessToken',
    method: 'DELETE',
    path: `${api}/tokens/:id`,
    ...manage,
    run: revokeToken,
  },
  { operation: 'listSessions', method: 'GET', path: `${api}/sessions`, ...own, run: listSessions },
  { operation: 'endOtherSessions', method: 'DELETE', path: `${api}/sessions`, ...own, run: endOtherSessions },
  { operation: 'endSession', method: 'DELETE', path: `${api}/sessions/:id`, ...own, run: endSession },
];

const peopleOperations: readonly ConsoleOperation[] = [
  { operation: 'enterAccount', method: 'POST', path: `${api}/enter`, ...own, run: enterAccount },
  { operation: 'leaveAccount', method: 'POST', path: `${api}/leave`, ...own, run: leaveAccount },
  { operation: 'listMembers', method: 'GET', path: `${api}/members`, ...manage, run: listMembers },
  { operation: 'changeMember', method: 'POST', path: `${api}/members/:id`, ...manage, run: changeMember },
  { operation: 'removeMember', method: 'DELETE', path: `${api}/members/:id`, ...manage, run: removeMember },
  {
    operation: 'listInvitations',
    method: 'GET',
    path: `${api}/invitations`,
    ...manage,
    run: listInvitations,
  },
  {
    operation: 'createInvitation',
    method: 'POST',
    path: `${api}/invitations`,
    ...manage,
    run: createInvitation,
  },
  {
    operation: 'withdrawInvitation',
    method: 'DELETE',
    path: `${api}/invitations/:id`,
    ...manage,
    run: withdrawInvitation,
  },
  { operation: 'readInvitation', method: 'POST', path: `${api}/invitation`, ...open, run: readInvitation },
  {
    operation: 'acceptInvitation',
    method: 'POST',
    path: `${api}/invitation/accept`,
    ...own,
    run: acceptInvitation,
  },
  { operation: 'changeEmail', method: 'POST', path: `${api}/email`, ...own, run: changeEmail },
  { operation: 'confirmEmail', method: 'POST', path: `${api}/email/confirm`, ...open, run: confirmEmail },
  { operation: 'deleteAccount', method: 'POST', path: `${api}/account/delete`, ...own, run: deleteAccount },
];
