import { openAsked, parseAsked } from './asked-records.ts';
import { cachedList } from './cached-answer.ts';
import type { RunOperation } from './operation.ts';
import { preparePopulate } from './populate.ts';

/**
 * GET /{project}/{space}: a JSON array of the records that match (interface.md section 4.3). The same with conditions in
 * the body of QUERY, or of POST /{project}/{space}/_find_.
 */
export const find: RunOperation = (call, deps) =>
  openAsked(call, (space, asked) => {
    const { request } = call;
    const { reader, store } = deps;
    return cachedList({ cache: store.results, space, request, asked: `find ${asked.key}` }, () => {
      const plan = parseAsked(request, space, asked);
      return {
        conditions: plan.conditions,
        populate: preparePopulate(deps, request, space),
        now: () => reader.listNow(space, plan),
        read: () => reader.stream(space, plan, request.signal),
      };
    });
  });
