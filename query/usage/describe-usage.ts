import { dayParameter, describeList } from '../../common/http/list-parameters.ts';
import { type ApiOperation, accountErrors, jsonAnswer } from '../../common/openapi/api-operation.ts';
import { curl } from '../../common/openapi/curl.ts';
import { arrayOf, count, exactObject, named, type Schema, string } from '../../common/openapi/schema.ts';

/** How many days an answer has at most, and without parameters. */
export const mostDays = 366;
export const usualDays = 30;

export const usageParameters = {
  from: dayParameter(`The first day, at most ${mostDays} days up to \`to\`; without it ${usualDays} days`),
  to: dayParameter('The last day; without it today'),
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

/** How the description of the API shows what an account used. */
export const usageDescription: ApiOperation = {
  id: 'getUsage',
  tag: 'Usage',
  summary: 'Get what the account used',
  description:
    'By day (UTC) and project, in this order; a day on which a project was not used is left out. ' +
    'Figures are up to a minute behind.',
  access: 'token',
  parameters: describeList(usageParameters),
  answers: { 200: jsonAnswer('The figures', named('Usage', exactObject({ days: arrayOf(usageDay) }))) },
  errors: [...accountErrors, 'invalid_condition'],
  sample: (base) => curl({ url: `${base}/_usage_?from=2026-11-01&to=2026-11-30` }),
};
