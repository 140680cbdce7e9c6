import { openAsked, parseAsked } from './asked-records.ts';
import { cachedRecord } from './cached-answer.ts';
import type { RunOperation } from './operation.ts';
import { preparePopulate } from './populate.ts';

/**
 * GET /{project}/{space}/_single_: the first record that matches, or `null` (interface.md section 4.4).
 * The same with conditions in the body of QUERY, or of POST /{project}/{space}/_single_/_find_.
 * A page begins where find's would: its limit does not matter, its offset does.
 */
export const findOne: RunOperation = (call, deps) =>
  openAsked(call, (space, asked) => {
    const { request } = call;
    const { reader, store } = deps;
    return cachedRecord({ cache: store.results, space, request, asked: `findOne ${asked.key}` }, () => {
      const plan = parseAsked(request, space, asked);
      return {
        conditions: plan.conditions,
        populate: preparePopulate(deps, request, space),
        now: () => reader.firstNow(space, plan),
        read: () => reader.first(space, plan, request.signal),
      };
    });
  });
