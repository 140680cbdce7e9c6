import { parseConditions } from '../input/parse-conditions.ts';
import { parseOptions } from '../input/parse-options.ts';
import { cachedRecord } from './cached-answer.ts';
import type { RunOperation } from './operation.ts';

/**
 * GET /{project}/{space}/_single_: the first record that matches, or `null` (interface.md section 4.4).
 * A page begins where find's would: its limit does not matter, its offset does.
 */
export const findOne: RunOperation = async ({ request, open }, { reader, cache }) => {
  const space = await open();
  return cachedRecord({ cache, space, request, operation: 'findOne' }, () => {
    const options = parseOptions(request.header('options'), space.structure);
    const conditions = parseConditions(request.query, space.structure, options.paramRelationship);
    return { conditions, read: () => reader.first(space, conditions, options, request.signal) };
  });
};
