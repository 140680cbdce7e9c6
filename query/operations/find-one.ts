import type { HttpRequest, HttpResponse } from '../../common/http/http-types.ts';
import { continueWith } from '../../common/promises/continue-with.ts';
import { parseConditions } from '../input/parse-conditions.ts';
import { parseOptions } from '../input/parse-options.ts';
import { type AskedPairs, readQueryPairs } from '../input/query-pairs.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import { cachedRecord } from './cached-answer.ts';
import type { OperationDeps, RunOperation } from './operation.ts';
import { preparePopulate } from './populate.ts';

/**
 * GET /{project}/{space}/_single_: the first record that matches, or `null` (interface.md section 4.4).
 * The same with conditions in the body of QUERY, or of POST /{project}/{space}/_single_/_find_.
 * A page begins where find's would: its limit does not matter, its offset does.
 */
export const findOne: RunOperation = ({ request, open, body }, deps) =>
  continueWith(open(), (space) =>
    continueWith(readQueryPairs(request, body), (asked) => answer(request, space, asked, deps)),
  );

function answer(
  request: HttpRequest,
  space: RecordSpace,
  asked: AskedPairs,
  deps: OperationDeps,
): HttpResponse | Promise<HttpResponse> {
  const { reader, cache } = deps;
  return cachedRecord({ cache, space, request, asked: `findOne ${asked.key}` }, async () => {
    const options = parseOptions(request.header('options'), space.structure);
    const conditions = parseConditions(asked.pairs(), space.structure, options.paramRelationship);
    const populate = request.header('options') ? await preparePopulate(deps, request, space) : null;
    return { conditions, populate, read: () => reader.first(space, conditions, options, request.signal) };
  });
}
