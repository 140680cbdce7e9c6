import type { Authenticate } from '../../common/auth/authenticate.ts';
import { invalidCondition } from '../../common/errors/catalogue.ts';
import type { QueryPairs, Route } from '../../common/http/http-types.ts';
import { readListQuery } from '../../common/http/list-parameters.ts';
import { dayOf, type UsageCounts } from '../../common/usage/usage-counts.ts';
import { usageDescription as description, mostDays, usageParameters, usualDays } from './describe-usage.ts';

const dayLength = 24 * 3600 * 1000;

/** GET /_usage_: what an account used, by project and day. */
export function usageRoute({
  usage,
  authenticate,
}: {
  readonly usage: Pick<UsageCounts, 'of'>;
  readonly authenticate: Authenticate;
}): Route {
  return {
    operation: description.id,
    method: 'GET',
    path: '/_usage_',
    api: description,
    async handler(request) {
      const { userId } = await authenticate(request);
      const days = await usage.of(userId, readDays(request.query), request.signal);
      if (days === null) throw invalidCondition(['these days have too many figures: ask for fewer days']);
      return {
        status: 200,
        headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' },
        body: JSON.stringify({ days }),
      };
    },
  };
}

function readDays(query: QueryPairs): {
  readonly from: string;
  readonly to: string;
} {
  const given = readListQuery(usageParameters, query);
  const to = given.to ?? dayOf(Date.now());
  const from = given.from ?? dayOf(Date.parse(to) - (usualDays - 1) * dayLength);
  if (from > to) throw invalidCondition(['from should not come after to']);
  if ((Date.parse(to) - Date.parse(from)) / dayLength >= mostDays) {
    throw invalidCondition([`from and to should be at most ${mostDays} days`]);
  }
  return { from, to };
}
