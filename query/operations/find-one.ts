import { parseConditions } from '../input/parse-conditions.ts';
import { parseOptions } from '../input/parse-options.ts';
import { readQueryPairs } from '../input/query-pairs.ts';
import { cachedRecord } from './cached-answer.ts';
import type { RunOperation } from './operation.ts';
import { preparePopulate } from './populate.ts';

/**
 * GET /{project}/{space}/_single_: the first record that matches, or `null` (interface.md section 4.4).
 * The same with conditions in the body of QUERY, or of POST /{project}/{space}/_single_/_find_.
 * A page begins where find's would: its limit does not matter, its offset does.
 */
export const findOne: RunOperation = async ({ request, open, body }, deps) => {
  const { reader, cache } = deps;
  const space = await open();
  const { pairs, key } = await readQueryPairs(request, body);
  return cachedRecord({ cache, space, request, asked: `findOne ${key}` }, async () => {
    const options = parseOptions(request.header('options'), space.structure);
    const conditions = parseConditions(pairs, space.structure, options.paramRelationship);
    const populate = request.header('options') ? await preparePopulate(deps, request, space) : null;
    return { conditions, populate, read: () => reader.first(space, conditions, options, request.signal) };
  });
};
