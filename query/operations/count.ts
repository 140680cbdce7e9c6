import { count as countSchema, exactObject } from '#kernel/json/schema.ts';
import { continueWith } from '#kernel/limits/continue-with.ts';
import { askedConditions, parseAsked } from '../input/asked-conditions.ts';
import { conditionErrors } from '../openapi/describe-operation.ts';
import { cachedBytes } from './cached-answer.ts';
import { queryableJson } from './json-answer.ts';
import type { OperationDefinition } from './operation.ts';

export const count: OperationDefinition = {
  run: (call, deps) =>
    continueWith(call.open(), (space) =>
      continueWith(askedConditions(call.request, call.body), (asked) =>
        cachedBytes({ call, deps, space, asked: `count ${asked.key}`, headers: queryableJson }, () => {
          const { reader } = deps;
          const { conditions } = parseAsked(asked, call.request, space.structure);
          const now = (): Uint8Array | null => {
            const found = reader.countNow(space, conditions);
            return found === null ? null : Buffer.from(JSON.stringify({ count: found }));
          };
          const read = async (): Promise<Uint8Array> => {
            const found = space.missing ? 0 : await reader.count(space, call.request.signal, conditions);
            return Buffer.from(JSON.stringify({ count: found }));
          };
          return { conditions, populate: null, total: null, now, read };
        }),
      ),
    ),
  summary: 'Count records',
  description: 'How many records match. With `QUERY` the conditions come in the body.',
  parameters: ({ conditions }) => conditions,
  timed: true,
  options: true,
  answer: () => exactObject({ count: countSchema }),
  errors: [...conditionErrors, 'query_too_expensive'],
  sample: { query: '?name=Ada' },
};
