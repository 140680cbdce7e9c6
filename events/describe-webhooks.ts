import {
  type ApiOperation,
  accountErrors as errors,
  jsonAnswer,
  queryParameter,
} from '../common/openapi/api-operation.ts';
import { curl, keeping } from '../common/openapi/curl.ts';
import { arrayOf, count, dateTime, exactObject, named, nullable, string } from '../common/openapi/schema.ts';

const tag = 'Webhooks';

/** How many deliveries a list has. */
export const listed = { usual: 50, most: 500 } as const;

const delivery = named(
  'Delivery',
  exactObject({
    id: { ...string, description: 'Also the `webhook-id` of the call' },
    event: { type: 'string', enum: ['record.inserted', 'record.updated'] },
    project: string,
    space: string,
    url: string,
    recordIds: arrayOf(string),
    state: { type: 'string', enum: ['pending', 'delivered', 'failed'] },
    attempts: count,
    lastStatus: nullable({ type: 'integer', description: 'Of the last answer; null: there was none' }),
    lastProblem: nullable(string),
    createdAt: dateTime,
    updatedAt: dateTime,
    nextAttemptAt: nullable({ ...dateTime, description: 'Null: there will be none' }),
  }),
);

function announcing(base: string): string {
  // a space of its own: other samples would call the address as well
  const structure = {
    ...{ name: 'People', description: '', projectSlug: 'demo', slug: 'announced' },
    recordStructure: [{ name: 'name', slug: 'name', type: 'TEXT' }],
    webhooks: { onInsertUrl: 'https://hooks.example.com/people' },
  };
  return `${curl({ url: `${base}/demo/announced`, headers: { structure }, body: [{ name: 'Ada' }] })}\n`;
}

/** How the description of the API shows what an account may see and do about its webhooks. */
export const webhookDescriptions = {
  secret: {
    id: 'getWebhookSecret',
    tag,
    summary: 'Get the key that signs webhooks',
    description: 'Of the account, in the form of Standard Webhooks.',
    access: 'token',
    answers: {
      200: jsonAnswer(
        'The key',
        named('WebhookSecret', exactObject({ secret: { type: 'string', pattern: '^whsec_' } })),
      ),
    },
    errors,
    sample: (base) => curl({ url: `${base}/_webhooks_/secret` }),
  },
  deliveries: {
    id: 'getWebhookDeliveries',
    tag,
    summary: 'List the newest calls of webhooks',
    description: 'Of the account, newest first.',
    access: 'token',
    parameters: [
      queryParameter('limit', 'How many at most', {
        type: 'integer',
        minimum: 1,
        maximum: listed.most,
        default: listed.usual,
      }),
    ],
    answers: { 200: jsonAnswer('The calls', arrayOf(delivery)) },
    errors: [...errors, 'invalid_condition'],
    sample: (base) => announcing(base) + curl({ url: `${base}/_webhooks_/deliveries?limit=10` }),
  },
  send: {
    id: 'sendWebhookAgain',
    tag,
    summary: 'Make a call of a webhook again',
    description:
      'One that was delivered, or failed, is made as if it were new, for two days after its write and as long as its ' +
      'content is kept. One that waits is left as it is.',
    access: 'token',
    pathParameters: { id: { description: 'Of the delivery', schema: { type: 'string', minLength: 1 } } },
    answers: { 200: jsonAnswer('The delivery as it is now', delivery) },
    errors: [...errors, 'not_found'],
    sample: (base) =>
      `${announcing(base)}${keeping('DELIVERY', 'id', curl({ url: `${base}/_webhooks_/deliveries?limit=1` }))}\n` +
      curl({ method: 'POST', url: `${base}/_webhooks_/deliveries/$DELIVERY/send` }),
  },
} as const satisfies Readonly<Record<string, ApiOperation>>;
