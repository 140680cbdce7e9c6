import type { HttpRequest, HttpResponse } from '../../common/http/http-types.ts';
import { continueWith } from '../../common/promises/continue-with.ts';
import { parseConditions } from '../input/parse-conditions.ts';
import { parseOptions } from '../input/parse-options.ts';
import { type AskedPairs, readQueryPairs } from '../input/query-pairs.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import { cachedList } from './cached-answer.ts';
import type { OperationDeps, RunOperation } from './operation.ts';
import { preparePopulate } from './populate.ts';

/**
 * GET /{project}/{space}: a JSON array of the records that match (interface.md section 4.3). The same with conditions in
 * the body of QUERY, or of POST /{project}/{space}/_find_.
 */
export const find: RunOperation = ({ request, open, body }, deps) =>
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
  return cachedList({ cache, space, request, asked: `find ${asked.key}` }, async () => {
    const options = parseOptions(request.header('options'), space.structure);
    const conditions = parseConditions(asked.pairs(), space.structure, options.paramRelationship);
    const populate = request.header('options') ? await preparePopulate(deps, request, space) : null;
    const read = () => reader.stream(space, { ...options, conditions }, request.signal);
    return { conditions, populate, read };
  });
}
