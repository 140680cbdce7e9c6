import { type AccountOperation, accountRoutes } from '#auth/account-routes.ts';
import type { Authenticate } from '#auth/authenticate.ts';
import { dayOf, type UsageCounts } from '#catalogue/usage-counts.ts';
import { invalidCondition } from '#kernel/errors/catalogue.ts';
import { arrayOf, count, exactObject, named, type Schema, string } from '#kernel/json/schema.ts';
import type { QueryPairs, Route } from '#server/http/http-types.ts';
import { dayParameter, describeList, readListQuery } from '#server/http/list-parameters.ts';
import { noStoreJson } from '#server/http/no-store-json.ts';
import { accountErrors, jsonAnswer } from '#server/openapi/api-operation.ts';
import { curl } from '#server/openapi/curl.ts';

/** Most days of an answer, and days of an answer without parameters. */
const mostDays = 366;
const usualDays = 30;

const parameters = {
  from: dayParameter(`The first day, at most ${mostDays} days before \`to\`; by default ${usualDays} days`),
  to: dayParameter('The last day; by default today'),
};

const date: Schema = { type: 'string', format: 'date' };
const counted = (description: string): Schema => ({ ...count, description });

const usageDay = named(
  'UsageDay',
  exactObject({
    date,
    project: string,
    requests: counted('Requests with an access token whose path names the project'),
    bytesIn: counted('Bytes of their bodies'),
    files: counted('Files that were uploaded'),
    bytesStored: counted('Bytes of these files'),
    recordsWritten: counted('Records that were inserted, changed or deleted one by one'),
  }),
);

interface UsageRouteParts {
  readonly usage: Pick<UsageCounts, 'of'>;
  readonly authenticate: Authenticate;
}

/** GET /_usage_: the usage of an account, by project and day. */
const getUsage: AccountOperation<UsageRouteParts> = {
  name: 'getUsage',
  method: 'GET',
  path: '/_usage_',
  needs: { grant: 'usage', touches: 'beside spaces' },
  summary: 'Get the usage of the account',
  description:
    'By day (UTC) and project, in this order; days without usage of a project are left out. ' +
    'Figures are up to a minute old.',
  parameters: describeList(parameters),
  answers: { 200: jsonAnswer('The figures', named('Usage', exactObject({ days: arrayOf(usageDay) }))) },
  errors: [...accountErrors, 'invalid_condition'],
  sample: (base) => curl({ url: `${base}/_usage_?from=2026-11-01&to=2026-11-30` }),
  async run({ usage }, { query, signal }, accountId) {
    const days = await usage.of(accountId, readDays(query), signal);
    if (days === null) throw invalidCondition(['these days have too many figures: ask for fewer days']);
    return noStoreJson({ days });
  },
};

export function usageRoutes(deps: UsageRouteParts): Route[] {
  return accountRoutes('Usage', [getUsage], deps);
}

const dayLength = 24 * 3600 * 1000;

function readDays(query: QueryPairs): { readonly from: string; readonly to: string } {
  const days = readListQuery(parameters, query);
  const to = days.to ?? dayOf(Date.now());
  const from = days.from ?? dayOf(Date.parse(to) - (usualDays - 1) * dayLength);
  if (from > to) throw invalidCondition(['from should not come after to']);
  if ((Date.parse(to) - Date.parse(from)) / dayLength >= mostDays) {
    throw invalidCondition([`from and to should be at most ${mostDays} days`]);
  }
  return { from, to };
}
