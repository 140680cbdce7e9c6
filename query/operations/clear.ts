import { notAllowed } from '#kernel/errors/catalogue.ts';
import { count, exactObject } from '#kernel/json/schema.ts';
import { isOfAll } from '#records/ruled.ts';
import { deleteAll, droppingAll } from '../space/removals.ts';
import { jsonAnswer } from './json-answer.ts';
import type { OperationDefinition } from './operation.ts';

/**
 * DELETE /{project}/{space}/clear-records: deletes all records of the space and answers how many there were just
 * before. This process stores nothing between the count and the end: an acknowledged record is either counted or kept.
 */
export const clear: OperationDefinition = {
  async run({ request, open }, { store, reader, spaces, recordFiles }) {
    const { signal } = request;
    const space = await open();
    if (!isOfAll(space, 'find') || !isOfAll(space, 'delete'))
      throw notAllowed('The rules of the record space do not let this user delete all records');
    const remove = async (): Promise<number> => {
      const found = await reader.count(space, signal);
      await deleteAll(store, space.id, 'old', signal);
      return found;
    };
    const deleted = await droppingAll(recordFiles, space, () => store.rewrite(space.id, remove), signal);
    await spaces.assertInPlace(space, signal);
    return jsonAnswer(JSON.stringify({ deleted }));
  },
  summary: 'Delete all records of a space',
  answer: () => exactObject({ deleted: { ...count, description: 'How many there were' } }),
  errors: ['unavailable'],
  sample: {},
};
