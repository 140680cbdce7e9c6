import { continueWith } from '../../common/limits/continue-with.ts';
import { count as countSchema, exactObject } from '../../common/openapi/schema.ts';
import { askedConditions, parseAsked } from '../input/asked-conditions.ts';
import { conditionErrors } from '../openapi/describe-operation.ts';
import { queryableHeaders, timingParameter } from '../openapi/filter-schemas.ts';
import { cachedRecord } from './cached-answer.ts';
import { queryableJson } from './json-answer.ts';
import type { OperationDefinition } from './operation.ts';

/** GET /{project}/{space}/_count_: how many records find would answer without a page. */
export const count: OperationDefinition = {
  run: ({ request, timing, open, body }, { reader, store }) =>
    continueWith(open(), (space) =>
      continueWith(askedConditions(request, body), ({ read: readAsked, key }) =>
        cachedRecord(
          { cache: store.results, space, request, timing, asked: `count ${key}`, headers: queryableJson },
          () => {
            const { structure } = space;
            const { conditions } = parseAsked(readAsked(structure), request, structure);
            const now = (): Uint8Array | null => {
              const found = reader.countNow(space, conditions);
              return found === null ? null : Buffer.from(JSON.stringify({ count: found }));
            };
            const read = async (): Promise<string> =>
              JSON.stringify({ count: await reader.count(space, request.signal, conditions) });
            return { conditions, populate: null, total: null, now, read };
          },
          '{"count":0}',
        ),
      ),
    ),
  summary: 'Count records',
  description: 'How many records match. With `QUERY` the conditions come in the body.',
  parameters: ({ conditions }) => conditions,
  headers: [timingParameter],
  answerHeaders: queryableHeaders,
  options: true,
  answer: () => exactObject({ count: countSchema }),
  errors: [...conditionErrors, 'query_too_expensive'],
  sample: { query: '?name=Ada' },
};
