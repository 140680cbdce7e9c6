import { deleteAll } from '../space/removals.ts';
import { jsonAnswer } from './json-answer.ts';
import type { RunOperation } from './operation.ts';

/**
 * DELETE /{project}/{space}/clear-records: deletes all records of the space and answers how many there were just
 * before. Within a process nothing is stored between the count and the end, so what is acknowledged is counted or there.
 */
export const clear: RunOperation = async ({ request, open }, { store, reader }) => {
  const { signal } = request;
  const space = await open();
  const deleted = await store.rewrite(space.id, async () => {
    const count = await reader.count(space, signal);
    await deleteAll(store, space.id, 'old', signal);
    return count;
  });
  return jsonAnswer(JSON.stringify({ deleted }));
};
