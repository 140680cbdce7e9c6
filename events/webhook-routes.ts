import type { Authenticate } from '../common/auth/authenticate.ts';
import { invalidCondition } from '../common/errors/catalogue.ts';
import type { Route } from '../common/http/http-types.ts';
import { noStoreJson } from '../common/http/no-store-json.ts';
import type { Delivery } from './delivery.ts';
import { webhookDescriptions as descriptions, listed } from './describe-webhooks.ts';

import type { Webhooks } from './webhooks.ts';

/** What an account may see and do about its webhooks. */
export function webhookRoutes({
  webhooks,
  authenticate,
}: {
  readonly webhooks: Webhooks;
  readonly authenticate: Authenticate;
}): Route[] {
  return [
    {
      operation: descriptions.secret.id,
      method: 'GET',
      path: '/_webhooks_/secret',
      api: descriptions.secret,
      async handler(request) {
        const { userId } = await authenticate(request);
        return noStoreJson({ secret: await webhooks.secretOf(userId) });
      },
    },
    {
      operation: descriptions.deliveries.id,
      method: 'GET',
      path: '/_webhooks_/deliveries',
      api: descriptions.deliveries,
      async handler(request) {
        const { userId } = await authenticate(request);
        const limit = readLimit(request.query);
        return noStoreJson((await webhooks.recent(userId, limit, request.signal)).map(shown));
      },
    },
    {
      operation: descriptions.send.id,
      method: 'POST',
      path: '/_webhooks_/deliveries/:id/send',
      api: descriptions.send,
      async handler(request) {
        const { userId } = await authenticate(request);
        return noStoreJson(shown(await webhooks.sendAgain(userId, request.params.id ?? '', request.signal)));
      },
    },
  ];
}

function readLimit(query: readonly (readonly [string, string])[]): number {
  const { usual, most } = listed;
  const text = query.find(([name]) => name === 'limit')?.[1] ?? String(usual);
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > most) throw invalidCondition([`limit should be a whole number from 1 to ${most}`]);
  return limit;
}

function shown(delivery: Delivery): unknown {
  const { id, event, project, space, url, recordIds, state, attempts, status, problem } = delivery;
  return {
    ...{ id, event, project, space, url, recordIds, state, attempts },
    lastStatus: status === 0 ? null : status,
    lastProblem: problem === '' ? null : problem,
    createdAt: delivery.createdAt.toISOString(),
    updatedAt: delivery.updatedAt.toISOString(),
    nextAttemptAt: state === 'pending' ? delivery.nextAt.toISOString() : null,
  };
}
