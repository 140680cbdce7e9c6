import { exactObject, named, string } from '#kernel/json/schema.ts';
import { readFunctionResources } from '../input/read-function-resources.ts';
import { mailSample } from '../openapi/sign-up-samples.ts';
import { functionResources } from './login-parts.ts';
import { done, mailAnswers, mailErrors, readMailRequest, senderOf, sent } from './mail-steps.ts';
import type { OperationDefinition } from './operation.ts';

/** POST /{project}/function/reset-password */
export const resetPassword: OperationDefinition = {
  async run({ request, open, body }, { structures, signUps }) {
    const { signal } = request;
    const space = await open(() => readFunctionResources(request, structures));
    const wanted = readMailRequest(await body(), ['password']);
    if ('token' in wanted || 'code' in wanted) {
      await signUps.resetPassword(space, { proof: wanted, password: wanted.given.password }, signal);
      return done;
    }
    await signUps.ask(space, 'resetPassword', { address: wanted.email, sender: senderOf(request, space) });
    return sent;
  },
  summary: 'Set a new password by mail',
  description:
    'With `{email}` it sends a mail with a link and a code, if the address has a user; the answer does not show whether. With `{token, password}`, or `{email, code, password}`, it sets the password. A token is good for 15 minutes, and once.',
  spaceHeaders: 'creation',
  parameters: ({ structure }) => [functionResources(structure)],
  body: () => ({
    schema: named(
      'PasswordReset',
      exactObject(
        { email: string, token: string, code: string, password: string },
        { optional: ['email', 'token', 'code', 'password'] },
      ),
    ),
    example: { email: 'ada@example.com' },
  }),
  answers: mailAnswers,
  errors: [...mailErrors, 'link_refused', 'too_many_attempts'],
  sample: mailSample,
};
