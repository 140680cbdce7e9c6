import { parseConditions } from '../input/parse-conditions.ts';
import { parseOptions } from '../input/parse-options.ts';
import { cachedList } from './cached-answer.ts';
import type { RunOperation } from './operation.ts';

/** GET /{project}/{space}: a JSON array of the records that match (interface.md section 4.3). */
export const find: RunOperation = async ({ request, open }, { reader, cache }) => {
  const space = await open();
  return cachedList({ cache, space, request, operation: 'find' }, () => {
    const options = parseOptions(request.header('options'), space.structure);
    const conditions = parseConditions(request.query, space.structure, options.paramRelationship);
    const read = () => reader.stream(space, { ...options, conditions }, request.signal);
    return { conditions, read };
  });
};
