import {
  type ApiOperation,
  databaseErrors,
  jsonContent,
  usualErrors,
} from '../../common/openapi/api-operation.ts';
import { curl } from '../../common/openapi/curl.ts';
import { exactObject, named, type Schema } from '../../common/openapi/schema.ts';

/** How many days an answer has at most, and without parameters. */
export const mostDays = 366;
export const usualDays = 30;

const string: Schema = { type: 'string' };
const date: Schema = { type: 'string', format: 'date' };
const count = (description: string): Schema => ({ type: 'integer', minimum: 0, description });

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
      headers: { 'Cache-Control': { description: 'no-store', schema: string, always: true } },
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
                  requests: count('Requests with an access token whose path names the project'),
                  bytesIn: count('Bytes of their bodies'),
                  files: count('Files that were uploaded'),
                  bytesStored: count('Bytes of these files'),
                  recordsWritten: count('Records that were inserted, changed or deleted one by one'),
                }),
              ),
            },
          }),
        ),
      ),
    },
  },
  errors: [...usualErrors, ...databaseErrors, 'unauthorized', 'invalid_condition'],
  sample: (base) => curl({ url: `${base}/_usage_?from=2026-11-01&to=2026-11-30` }),
};
