import { notImplemented } from '#kernel/errors/catalogue.ts';
import type { OperationDefinition } from './operation.ts';

/** A function of the published client that this service does not implement. @param name as the client calls it */
function missingFunction(name: string, summary: string, body: object): OperationDefinition {
  return {
    async run({ authenticate }) {
      await authenticate();
      throw notImplemented(`The function ${name}`);
    },
    summary,
    description: 'Not available: always answers 501.',
    spaceHeaders: 'none',
    errors: ['not_implemented'],
    sample: { body },
  };
}

export const sendOtp = missingFunction('sendOtp', 'Send a one-time password', { email: 'ada@example.com' });
export const sendPushNotifications = missingFunction('sendPushNotifications', 'Send push notifications', {
  title: 'Hello',
});
