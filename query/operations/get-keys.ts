import { jsonAnswer } from './json-answer.ts';
import type { RunOperation } from './operation.ts';

/** GET /{project}/{space}/get-key-values: the key group, or `null`. */
export const getKeys: RunOperation = async ({ request, open }, { reader }) => {
  const space = await open();
  return jsonAnswer((await reader.oldest(space, request.signal)) ?? 'null');
};
