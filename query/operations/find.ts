import { parseConditions } from '../input/parse-conditions.ts';
import { parseOptions } from '../input/parse-options.ts';
import { readQueryPairs } from '../input/query-pairs.ts';
import { cachedList } from './cached-answer.ts';
import type { RunOperation } from './operation.ts';
import { preparePopulate } from './populate.ts';

/**
 * GET /{project}/{space}: a JSON array of the records that match (interface.md section 4.3). The same with conditions in
 * the body of QUERY, or of POST /{project}/{space}/_find_.
 */
export const find: RunOperation = async ({ request, open, body }, deps) => {
  const { reader, cache } = deps;
  const space = await open();
  const { pairs, key } = await readQueryPairs(request, body);
  return cachedList({ cache, space, request, asked: `find ${key}` }, async () => {
    const options = parseOptions(request.header('options'), space.structure);
    const conditions = parseConditions(pairs, space.structure, options.paramRelationship);
    const populate = request.header('options') ? await preparePopulate(deps, request, space) : null;
    const read = () => reader.stream(space, { ...options, conditions }, request.signal);
    return { conditions, populate, read };
  });
};
