import { exactObject, named, string } from '#kernel/json/schema.ts';
import { readFunctionResources } from '../input/read-function-resources.ts';
import { mailSample } from '../openapi/sign-up-samples.ts';
import { functionResources } from './login-parts.ts';
import { done, mailAnswers, mailErrors, readMailRequest, senderOf, sent } from './mail-steps.ts';
import type { OperationDefinition } from './operation.ts';

/** POST /{project}/function/verify-email */
export const verifyEmail: OperationDefinition = {
  async run({ request, open, body }, { structures, signUps }) {
    const { signal } = request;
    const space = await open(() => readFunctionResources(request, structures));
    const wanted = readMailRequest(await body(), []);
    if ('token' in wanted || 'code' in wanted) {
      await signUps.verifyEmail(space, wanted, signal);
      return done;
    }
    await signUps.ask(space, 'verifyEmail', { address: wanted.email, sender: senderOf(request, space) });
    return sent;
  },
  summary: 'Verify the e-mail address of a user',
  description:
    'With `{token}`, or `{email, code}`, from the mail. With `{email}` alone it sends the mail again, if the address has a user who needs it; the answer does not show whether. A token is good for 15 minutes, and once.',
  spaceHeaders: 'creation',
  parameters: ({ structure }) => [functionResources(structure)],
  body: () => ({
    schema: named(
      'EmailVerification',
      exactObject({ email: string, token: string, code: string }, { optional: ['email', 'token', 'code'] }),
    ),
    example: { email: 'ada@example.com' },
  }),
  answers: mailAnswers,
  errors: [...mailErrors, 'link_refused', 'too_many_attempts'],
  sample: mailSample,
};
