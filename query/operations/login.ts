import { loginStateOf, newLogin } from '#auth/login-state.ts';
import { notVerified, unauthorized } from '#kernel/errors/catalogue.ts';
import { named } from '#kernel/json/schema.ts';
import { parseCredentials } from '#records/input/credentials.ts';
import { storedJson } from '#records/sql/record-row.ts';
import { readFunctionResources } from '../input/read-function-resources.ts';
import { tokenOwner } from '../login/authorize.ts';
import { isVerified, signUpOf } from '../login/sign-up-users.ts';
import { credentials, loginSample, tokenOwnerSample } from '../openapi/operation-sample.ts';
import { jsonAnswer } from './json-answer.ts';
import { functionResources, loginAnswer, loginSchema, loginToken } from './login-parts.ts';
import type { OperationDefinition } from './operation.ts';

export const login: OperationDefinition = {
  async run({ request, open, body }, { structures, candidates, loginTokens }) {
    const space = await open(() => readFunctionResources(request, structures));
    const conditions = parseCredentials(await body(), space.structure);
    const user = await candidates.login(space, conditions, request.signal);
    // one answer for a wrong password and for a user that does not exist
    if (user === null) throw unauthorized('Wrong user name or password');
    const signUp = signUpOf(space);
    // only who knows the password learns of it
    if (signUp?.required && !isVerified(signUp, user)) throw notVerified();
    const { projectId, id: spaceId } = space;
    const began = newLogin(loginStateOf(user), Date.now());
    const token = await loginTokens.issue({ projectId, spaceId, recordId: user._id, login: began });
    return loginAnswer(token, space, user);
  },
  summary: 'Log a user in',
  description:
    'Finds the user whose fields have the values of the body. The token works for `getTokenOwner` and `authOptions`. Fields that the structure names in `functionOptions.login.compulsoryParams` must be given.',
  spaceHeaders: 'creation',
  parameters: ({ structure }) => [functionResources(structure)],
  body: () => ({
    schema: named('Credentials', {
      type: 'object',
      minProperties: 1,
      additionalProperties: true,
      description:
        'At least a field that is not hashed, and one that is unless the structure has `compulsoryParams`',
    }),
    example: credentials,
  }),
  answer: ({ record }) => loginSchema(record),
  errors: ['invalid_value', 'invalid_condition', 'too_many_attempts', 'not_verified'],
  sample: loginSample,
};

export const getTokenOwner: OperationDefinition = {
  async run({ request, open }, deps) {
    const space = await open();
    const token = request.header('token');
    if (token === undefined || token === '')
      throw unauthorized('The header token is missing: send a login token');
    const user = await tokenOwner(deps, space, token, request.signal);
    if (user === null)
      throw unauthorized('The header token holds no login token of a user of this record space');
    return jsonAnswer(storedJson(space.structure, user));
  },
  summary: 'Get the user of a login token',
  parameters: () => [loginToken],
  answer: ({ record }) => record,
  sample: tokenOwnerSample,
};
