import { parseConditions } from '../input/parse-conditions.ts';
import { parseOptions } from '../input/parse-options.ts';
import { jsonStream } from './json-answer.ts';
import type { RunOperation } from './operation.ts';

/** GET /{project}/{space}: a JSON array of the records that match (interface.md section 4.3). */
export const find: RunOperation = async ({ request, open }, { reader }) => {
  const { query, signal } = request;
  const space = await open();
  const { paramRelationship, sort, page } = parseOptions(request.header('options'), space.structure);
  const conditions = parseConditions(query, space.structure, paramRelationship);
  return jsonStream(await reader.stream(space, { conditions, sort, page }, signal));
};
