import { withEnded } from '#auth/login-state.ts';
import { notAllowed, unauthorized } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import { boolean, exactObject, named } from '#kernel/json/schema.ts';
import { readFunctionResources } from '../input/read-function-resources.ts';
import { tokenLogin } from '../login/authorize.ts';
import { logoutSample, refreshSample } from '../openapi/operation-sample.ts';
import { jsonAnswer } from './json-answer.ts';
import { functionResources, loginAnswer, loginSchema, loginToken } from './login-parts.ts';
import type { OperationCall, OperationDefinition, QueryParts } from './operation.ts';

/** The space of the users, and the login of the token that a request sends. */
async function openLogin({ request, open }: OperationCall, deps: QueryParts) {
  const space = await open(() => readFunctionResources(request, deps.structures));
  const token = request.header('token');
  if (token === undefined || token === '')
    throw unauthorized('The header token is missing: send a login token');
  const found = await tokenLogin(deps, space, token, request.signal);
  if (found === null)
    throw unauthorized('The header token holds no login token of a user of this record space');
  return { space, ...found };
}

/** Renews a login token. The password is not read again, as its change ends the logins before it. */
export const refreshLogin: OperationDefinition = {
  async run(call, deps) {
    const { space, claims, row } = await openLogin(call, deps);
    const seconds = space.stored.auth?.sessionSeconds ?? 0;
    if (seconds === 0)
      throw notAllowed(
        `Logins of the record space ${shownName(space.stored.slug)} are not renewed: its authOptions have no sessionSeconds`,
      );
    const { login } = claims;
    const end = (login?.began ?? 0) + seconds;
    if (login === undefined || end <= Date.now() / 1000)
      throw unauthorized('The login is too old to be renewed: log in again');
    return loginAnswer(await deps.loginTokens.issue(claims, end), space, row);
  },
  summary: 'Renew a login token',
  description:
    'Answers a new token for the login of the token in the header `token`, as long as `authOptions.sessionSeconds` of the record space of the users allow since the login.',
  spaceHeaders: 'creation',
  parameters: ({ structure }) => [functionResources(structure), loginToken],
  answer: ({ record }) => loginSchema(record),
  sample: refreshSample,
};

export const logout: OperationDefinition = {
  async run(call, deps) {
    const { space, claims } = await openLogin(call, deps);
    const now = Math.floor(Date.now() / 1000);
    const until = now + Math.ceil(deps.loginTokens.ttl / 1000);
    const next = (state: string): string => withEnded(state, claims.login, { until, now });
    await deps.changes.changeLogins(space, claims.recordId, next, call.request.signal);
    return jsonAnswer('{"loggedOut":true}');
  },
  summary: 'Log a user out',
  description: 'Ends the login of the token in the header `token`: all tokens of this login stop working.',
  spaceHeaders: 'creation',
  parameters: ({ structure }) => [functionResources(structure), loginToken],
  answer: () => named('Logout', exactObject({ loggedOut: boolean })),
  sample: logoutSample,
};
