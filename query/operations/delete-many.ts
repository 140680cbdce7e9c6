import { count, exactObject } from '../../common/openapi/schema.ts';
import { manyKeys, readWhere } from '../input/many-records.ts';
import { PartReader } from '../input/part-reader.ts';
import { conditionErrors } from '../openapi/describe-operation.ts';
import { makePerson } from '../openapi/operation-sample.ts';
import { jsonAnswer } from './json-answer.ts';
import { idsOfMany } from './many-records.ts';
import type { OperationDefinition } from './operation.ts';

/** POST /{project}/{space}/_delete_: deletes all records that match, all or none, and answers how many. */
export const deleteMany: OperationDefinition = {
  async run({ request, open, body, wrote }, { reader, changes }) {
    const { signal } = request;
    const space = await open();
    const { where } = manyKeys(await body(), ['where']);
    const parts = new PartReader();
    const conditions = readWhere(parts, where, request, space.structure);
    parts.check();
    const find = () => idsOfMany(reader, { space, conditions, added: 0 }, signal);
    const { length: deleted } = await changes.changeAll(space, find, null, signal);
    wrote(deleted);
    return jsonAnswer(JSON.stringify({ deleted }));
  },
  summary: 'Delete all records that match',
  description:
    'All of them, or none; 10,000 at most. All records of the space are meant by `{"id": {"exists": true}}` only.',
  options: true,
  isRecord: false,
  body: ({ where, changes }) => ({
    schema: exactObject({ where }, { optional: ['where'] }),
    example: { where: changes.example },
  }),
  answer: () => exactObject({ deleted: { ...count, description: 'How many records matched' } }),
  errors: [...conditionErrors, 'no_conditions', 'query_too_expensive', 'unavailable'],
  sample: { first: makePerson, body: { where: { name: 'Ada' } } },
};
