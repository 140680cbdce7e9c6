import { unauthorized } from '../../common/errors/catalogue.ts';
import { headerParameter } from '../../common/openapi/api-operation.ts';
import { tokenOwner } from '../login/authorize.ts';
import { tokenOwnerSample } from '../openapi/operation-sample.ts';
import { jsonAnswer } from './json-answer.ts';
import type { OperationDefinition } from './operation.ts';

/** GET /{project}/{space}/get-token-owner: the record of the user whom the login token in the header `token` names. */
export const getTokenOwner: OperationDefinition = {
  async run({ request, open }, deps) {
    const space = await open();
    const token = request.header('token');
    if (token === undefined || token === '')
      throw unauthorized('The header token is missing: send a login token');
    const user = await tokenOwner(deps, space, token, request.signal);
    if (user === null)
      throw unauthorized('The header token holds no login token of a user of this record space');
    return jsonAnswer(user);
  },
  summary: 'Get the user of a login token',
  parameters: () => [
    { ...headerParameter('token', 'The login token of a user in this record space'), required: true },
  ],
  answer: ({ record }) => record,
  sample: tokenOwnerSample,
};
