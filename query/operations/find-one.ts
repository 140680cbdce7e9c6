import { parseConditions } from '../input/parse-conditions.ts';
import { parseOptions } from '../input/parse-options.ts';
import { jsonAnswer } from './json-answer.ts';
import type { RunOperation } from './operation.ts';

/**
 * GET /{project}/{space}/_single_: the first record that matches, or `null` (interface.md section 4.4).
 * A page begins where find's would: its limit does not matter, its offset does.
 */
export const findOne: RunOperation = async ({ request, open }, { reader }) => {
  const { query, signal } = request;
  const space = await open();
  const { paramRelationship, sort, page } = parseOptions(request.header('options'), space.structure);
  const conditions = parseConditions(query, space.structure, paramRelationship);
  return jsonAnswer((await reader.first(space, conditions, { sort, page }, signal)) ?? 'null');
};
