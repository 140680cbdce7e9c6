import { continueWith } from '../../common/promises/continue-with.ts';
import { oldest } from '../records/record-reader.ts';
import { cachedRecord } from './cached-answer.ts';
import type { RunOperation } from './operation.ts';

/** GET /{project}/{space}/get-key-values: the key group, or `null`. */
export const getKeys: RunOperation = ({ request, open }, { reader, store }) =>
  continueWith(open(), (space) =>
    cachedRecord({ cache: store.results, space, request, asked: 'getKeys' }, () => ({
      conditions: null,
      populate: null,
      now: () => reader.firstNow(space, oldest),
      read: () => reader.oldest(space, request.signal),
    })),
  );
