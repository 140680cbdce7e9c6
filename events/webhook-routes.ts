import { type AccountOperation, accountRoutes } from '#auth/account-routes.ts';
import type { Authenticate } from '#auth/authenticate.ts';
import { invalidCondition } from '#kernel/errors/catalogue.ts';
import { arrayOf, count, dateTime, exactObject, named, nullable, string } from '#kernel/json/schema.ts';
import { fileEventTypes } from '#kernel/record-events/file-event.ts';
import { mailPurposes } from '#kernel/record-events/mail.ts';
import type { HttpResponse, QueryPairs, Route } from '#server/http/http-types.ts';
import { noStoreJson } from '#server/http/no-store-json.ts';
import { accountErrors as errors, jsonAnswer, queryParameter } from '#server/openapi/api-operation.ts';
import { curl, keeping } from '#server/openapi/curl.ts';
import type { Delivery } from './delivery.ts';
import type { Webhooks } from './webhooks.ts';

interface WebhookRouteDeps {
  readonly webhooks: Webhooks;
  readonly authenticate: Authenticate;
}

/** Routes for an account's webhooks. */
export function webhookRoutes(deps: WebhookRouteDeps): Route[] {
  return accountRoutes('Webhooks', operations, deps);
}

/** Deliveries in a list. */
const listLimits = { usual: 50, most: 500 } as const;

const delivery = named(
  'Delivery',
  exactObject({
    id: { ...string, description: 'Also the `webhook-id` of the call' },
    event: {
      type: 'string',
      enum: [
        ...['record.inserted', 'record.updated'],
        ...fileEventTypes,
        ...mailPurposes.map((purpose) => `mail.${purpose}`),
      ],
    },
    project: string,
    space: { ...string, description: 'Empty for a file' },
    url: { ...string, description: '`mailto:` for a mail by SMTP' },
    recordIds: {
      ...arrayOf(string),
      description: 'Of a file: its name. Of a mail: the address that it was asked for',
    },
    state: { type: 'string', enum: ['pending', 'delivered', 'failed', 'split'] },
    attempts: count,
    lastStatus: nullable({ type: 'integer', description: 'Status of the last answer; null: there was none' }),
    lastProblem: nullable(string),
    createdAt: dateTime,
    updatedAt: dateTime,
    nextAttemptAt: nullable({ ...dateTime, description: 'Null: there will be no further attempt' }),
  }),
);

const deadAddresses = arrayOf(
  named('WebhookAddress', exactObject({ url: string, lastProblem: string, switchedOffAt: dateTime })),
);

function makeAnnouncedSpace(base: string): string {
  // a separate space: other samples would call the address as well
  const structure = {
    name: 'People',
    description: '',
    projectSlug: 'demo',
    slug: 'announced',
    recordStructure: [{ name: 'name', slug: 'name', type: 'TEXT' }],
    webhooks: { onInsertUrl: 'https://hooks.example.com/people' },
  };
  return `${curl({ url: `${base}/demo/announced`, headers: { structure }, body: [{ name: 'Ada' }] })}\n`;
}

const operations: readonly AccountOperation<WebhookRouteDeps>[] = [
  {
    name: 'getWebhookSecret',
    method: 'GET',
    path: '/_webhooks_/secret',
    needs: { grant: 'webhooks', touches: 'beside spaces' },
    summary: 'Get the key that signs webhooks',
    description: 'The key of the account, in the form of Standard Webhooks.',
    answers: {
      200: jsonAnswer(
        'The key',
        named('WebhookSecret', exactObject({ secret: { type: 'string', pattern: '^whsec_' } })),
      ),
    },
    errors,
    sample: (base) => curl({ url: `${base}/_webhooks_/secret` }),
    run: async ({ webhooks }, _, accountId) => noStoreJson({ secret: await webhooks.secretOf(accountId) }),
  },
  {
    name: 'getWebhookDeliveries',
    method: 'GET',
    path: '/_webhooks_/deliveries',
    needs: { grant: 'webhooks', touches: 'beside spaces' },
    summary: 'List the newest calls of webhooks',
    description: 'Of the account, newest first.',
    parameters: [
      queryParameter('limit', 'How many at most', {
        type: 'integer',
        minimum: 1,
        maximum: listLimits.most,
        default: listLimits.usual,
      }),
    ],
    answers: { 200: jsonAnswer('The calls', arrayOf(delivery)) },
    errors: [...errors, 'invalid_condition'],
    sample: (base) => makeAnnouncedSpace(base) + curl({ url: `${base}/_webhooks_/deliveries?limit=10` }),
    async run({ webhooks }, { query, signal }, accountId, grants) {
      const scope = { ownerId: accountId, spaces: grants?.spaces };
      return noStoreJson((await webhooks.recent(scope, readLimit(query), signal)).map(deliveryJson));
    },
  },
  {
    name: 'sendWebhookAgain',
    method: 'POST',
    path: '/_webhooks_/deliveries/:id/send',
    needs: { grant: 'webhooks', touches: 'beside spaces' },
    summary: 'Make a call of a webhook again',
    description:
      'A call that was delivered or failed is made again as if it were new, for two days after its write, as long as its ' +
      'content is kept. A pending call is left as it is.',
    pathParameters: {
      id: { description: 'The id of the delivery', schema: { type: 'string', minLength: 1 } },
    },
    answers: { 200: jsonAnswer('The delivery as it is now', delivery) },
    errors: [...errors, 'not_found'],
    sample: (base) =>
      `${makeAnnouncedSpace(base)}${keeping('DELIVERY', 'id', curl({ url: `${base}/_webhooks_/deliveries?limit=1` }))}\n` +
      curl({ method: 'POST', url: `${base}/_webhooks_/deliveries/$DELIVERY/send` }),
    async run({ webhooks }, { params: { id = '' }, signal }, accountId, grants) {
      const scope = { ownerId: accountId, spaces: grants?.spaces };
      return noStoreJson(deliveryJson(await webhooks.sendAgain(scope, id, signal)));
    },
  },
  {
    name: 'getWebhookAddresses',
    method: 'GET',
    path: '/_webhooks_/addresses',
    needs: { grant: 'webhooks', touches: 'all spaces' },
    summary: 'List addresses that are switched off',
    description:
      'Newest first, at most 100. An address that answers `410 Gone` is switched off: calls to it are not made, and are ' +
      'listed as failed.',
    answers: { 200: jsonAnswer('The addresses', deadAddresses) },
    errors,
    sample: (base) => curl({ url: `${base}/_webhooks_/addresses` }),
    run: async ({ webhooks }, { signal }, accountId) => answerDead(webhooks, accountId, signal),
  },
  {
    name: 'switchWebhookAddressOn',
    method: 'POST',
    path: '/_webhooks_/addresses/on',
    needs: { grant: 'webhooks', touches: 'all spaces' },
    summary: 'Switch an address on again',
    description: 'Later writes call it again. Also answers 200 for an address that is on.',
    parameters: [{ ...queryParameter('url', 'The address'), required: true }],
    answers: { 200: jsonAnswer('The addresses that are still switched off', deadAddresses) },
    errors: [...errors, 'invalid_condition'],
    sample: (base) =>
      curl({ method: 'POST', url: `${base}/_webhooks_/addresses/on?url=https://hooks.example.com/people` }),
    async run({ webhooks }, { query, signal }, accountId) {
      const url = query.find(([name]) => name === 'url')?.[1] ?? '';
      if (url === '') throw invalidCondition(['url should be the address to switch on']);
      const dead = await webhooks.deadAddresses(accountId, signal);
      if (dead.some((one) => one.url === url)) await webhooks.switchOn(accountId, url);
      return answerDead(webhooks, accountId, signal);
    },
  },
];

async function answerDead(webhooks: Webhooks, accountId: string, signal: AbortSignal): Promise<HttpResponse> {
  const dead = await webhooks.deadAddresses(accountId, signal);
  return noStoreJson(
    dead.map(({ url, problem, since }) => ({
      url,
      lastProblem: problem,
      switchedOffAt: since.toISOString(),
    })),
  );
}

function readLimit(query: QueryPairs): number {
  const { usual, most } = listLimits;
  const text = query.find(([name]) => name === 'limit')?.[1] ?? String(usual);
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > most) throw invalidCondition([`limit should be a whole number from 1 to ${most}`]);
  return limit;
}

function deliveryJson(delivery: Delivery): unknown {
  const { id, event, project, space, url, recordIds, state, attempts, status, problem } = delivery;
  return {
    id,
    event,
    project,
    space,
    url,
    recordIds,
    state,
    attempts,
    lastStatus: status === 0 ? null : status,
    lastProblem: problem === '' ? null : problem,
    createdAt: delivery.createdAt.toISOString(),
    updatedAt: delivery.updatedAt.toISOString(),
    nextAttemptAt: state === 'pending' ? delivery.nextAt.toISOString() : null,
  };
}
