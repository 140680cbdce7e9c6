import { newLogin } from '#auth/login-state.ts';
import { exactObject, named, string } from '#kernel/json/schema.ts';
import { newRecordJson } from '#records/sql/new-record.ts';
import { noStoreJson } from '#server/http/no-store-json.ts';
import { jsonAnswer } from '#server/openapi/api-operation.ts';
import { readFunctionResources } from '../input/read-function-resources.ts';
import { writeErrors } from '../openapi/describe-operation.ts';
import { signUpBody, signUpSample } from '../openapi/sign-up-samples.ts';
import { functionResources } from './login-parts.ts';
import { mailErrors, mailStep, senderOf, sent } from './mail-steps.ts';
import type { OperationDefinition } from './operation.ts';

/** POST /{project}/function/sign-up */
export const signUp: OperationDefinition = {
  async run({ request, open, body }, { structures, signUps, loginTokens }) {
    const space = await open(() => readFunctionResources(request, structures));
    const from = { sender: senderOf(request, space), signal: request.signal };
    const user = await signUps.signUp(space, await body(), from);
    if (user === null) return sent;
    const { projectId, id: spaceId } = space;
    const login = newLogin('', Date.now());
    const token = await loginTokens.issue({ projectId, spaceId, recordId: user.id, login });
    const record = newRecordJson(space.structure, user);
    return { ...noStoreJson(null), body: `{"token":${JSON.stringify(token)},"user":${record}}` };
  },
  summary: 'Sign a user up',
  description:
    'Inserts a user as the rule `insert` allows, where the rules have `signUp`. If users have to verify their address, the answer is a 202, whether the address is taken or not: its owner gets a mail.',
  spaceHeaders: 'creation',
  parameters: ({ structure }) => [functionResources(structure)],
  body: ({ newRecord }) => ({ schema: newRecord.schema, example: signUpBody }),
  answers: {
    200: jsonAnswer(
      'The user, who is logged in',
      named('SignedUp', exactObject({ token: string, user: { type: 'object', additionalProperties: true } })),
    ),
    202: jsonAnswer('A mail is sent', mailStep),
  },
  errors: [...writeErrors, ...mailErrors],
  sample: signUpSample,
};
