import { continueWith } from '../../common/limits/continue-with.ts';
import { oldest } from '../records/record-reader.ts';
import { cachedRecord } from './cached-answer.ts';
import { jsonHeaders } from './json-answer.ts';
import type { OperationDefinition } from './operation.ts';

/** GET /{project}/{space}/get-key-values: the key group, or `null`. */
export const getKeys: OperationDefinition = {
  run: ({ request, timing, open }, { reader, store }) =>
    continueWith(open(), (space) =>
      cachedRecord(
        { cache: store.results, space, request, timing, asked: 'getKeys', headers: jsonHeaders },
        () => ({
          conditions: null,
          populate: null,
          total: null,
          now: () => reader.firstNow(space, oldest),
          read: () => reader.oldest(space, request.signal),
        }),
      ),
    ),
  summary: 'Get the keys of a key group',
  description: 'The one record of the space, or `null`.',
  answer: ({ recordOrNull }) => recordOrNull,
  sample: {},
};
