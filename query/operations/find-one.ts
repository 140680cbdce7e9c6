import { openAsked, parseAsked } from './asked-records.ts';
import { cachedRecord } from './cached-answer.ts';
import type { RunOperation } from './operation.ts';

/**
 * GET /{project}/{space}/_single_: the first record that matches, or `null` (interface.md section 4.4).
 * The same with conditions in the body of QUERY, or of POST /{project}/{space}/_single_/_find_.
 * A page begins where find's would: its limit does not matter, its offset does.
 */
export const findOne: RunOperation = (call, deps) =>
  openAsked(call, (space, asked) => {
    const { request } = call;
    const { reader, cache } = deps;
    return cachedRecord({ cache, space, request, asked: `findOne ${asked.key}` }, async () => {
      const { options, conditions, populate } = await parseAsked(deps, request, space, asked);
      return { conditions, populate, read: () => reader.first(space, conditions, options, request.signal) };
    });
  });
