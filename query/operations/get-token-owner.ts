import { unauthorized } from '../../common/errors/catalogue.ts';
import { tokenOwner } from '../login/token-owner.ts';
import { jsonAnswer } from './json-answer.ts';
import type { RunOperation } from './operation.ts';

/** GET /{project}/{space}/get-token-owner: the record of the user whom the login token in the header `token` names. */
export const getTokenOwner: RunOperation = async ({ request, open }, deps) => {
  const space = await open();
  const token = request.header('token');
  if (token === undefined || token === '')
    throw unauthorized('The header token is missing: send a login token');
  const user = await tokenOwner(deps, space, token, request.signal);
  if (user === null)
    throw unauthorized('The header token holds no login token of a user of this record space');
  return jsonAnswer(user);
};
