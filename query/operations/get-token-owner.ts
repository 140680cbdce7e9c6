import type { LoginTokens } from '../../common/auth/login-tokens.ts';
import type { Database } from '../../common/clickhouse/database.ts';
import { unauthorized } from '../../common/errors/catalogue.ts';
import type { Handler } from '../../common/http/http-types.ts';
import { tokenOwner } from '../login/token-owner.ts';
import type { OpenRecordSpace } from '../space/open-space.ts';
import { jsonAnswer } from './json-answer.ts';

/** GET /{project}/{space}/get-token-owner: the record of the user whom the login token in the header `token` names. */
export function getTokenOwner(deps: {
  db: Database;
  loginTokens: LoginTokens;
  openSpace: OpenRecordSpace;
}): Handler {
  return async (request) => {
    const space = await deps.openSpace(request, 'getTokenOwner');
    const token = request.header('token');
    if (token === undefined || token === '')
      throw unauthorized('The header token is missing: send a login token');
    const user = await tokenOwner(deps, space, token, request.signal);
    if (user === null)
      throw unauthorized('The header token holds no login token of a user of this record space');
    return jsonAnswer(user);
  };
}
