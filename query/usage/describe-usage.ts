import {
  type ApiOperation,
  accountErrors,
  jsonContent,
  noStore,
} from '../../common/openapi/api-operation.ts';
import { curl } from '../../common/openapi/curl.ts';
import { count, exactObject, named, type Schema, string } from '../../common/openapi/schema.ts';

/** How many days an answer has at most, and without parameters. */
export const mostDays = 366;
export const usualDays = 30;

const date: Schema = { type: 'string', format: 'date' };
const counted = (description: string): Schema => ({ ...count, description });

/** How the description of the API shows what an account used. */
export const usageDescription: ApiOperation = {
  id: 'getUsage',
  tag: 'Usage',
  summary: 'Get what the account used',
  description:
    'By day (UTC) and project, in this order; a day on which a project was not used is left out. ' +
    'Figures are up to a minute behind.',
  access: 'token',
  parameters: [
    {
      name: 'from',
      in: 'query',
      description: `The first day, at most ${mostDays} days up to \`to\`; without it ${usualDays} days`,
      schema: date,
    },
    { name: 'to', in: 'query', description: 'The last day; without it today', schema: date },
  ],
  answers: {
    200: {
      description: 'The figures',
      headers: noStore,
      content: jsonContent(
        named(
          'Usage',
          exactObject({
            days: {
              type: 'array',
              items: named(
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
              ),
            },
          }),
        ),
      ),
    },
  },
  errors: [...accountErrors, 'invalid_condition'],
  sample: (base) => curl({ url: `${base}/_usage_?from=2026-11-01&to=2026-11-30` }),
};
