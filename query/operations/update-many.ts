import { count, exactObject } from '../../common/openapi/schema.ts';
import { manyKeys, readManyChanges, readWhere } from '../input/many-records.ts';
import { PartReader } from '../input/part-reader.ts';
import { conditionErrors, writeErrors } from '../openapi/describe-operation.ts';
import { makePerson } from '../openapi/operation-sample.ts';
import { storedJson } from '../sql/record-row.ts';
import { jsonAnswer } from './json-answer.ts';
import { idsOfMany } from './many-records.ts';
import type { OperationDefinition } from './operation.ts';

/** POST /{project}/{space}/_update_: changes fields of all records that match, all or none, and answers how many. */
export const updateMany: OperationDefinition = {
  async run({ request, open, body, wrote }, { reader, changes, announce }) {
    const { signal } = request;
    const space = await open();
    const { structure } = space;
    const { where, set, inc } = manyKeys(await body(), ['where', 'set', 'inc']);
    const parts = new PartReader();
    const conditions = readWhere(parts, where, request, structure);
    const wanted = readManyChanges(parts, { set, inc }, structure);
    parts.check();
    const added = Buffer.byteLength([...wanted.values()].join(''));
    const find = () => idsOfMany(reader, { space, conditions, added }, signal);
    const rows = await changes.changeAll(space, find, wanted, signal);
    const announced = function* () {
      for (const row of rows) yield { id: row._id, json: storedJson(structure, row) };
    };
    if (rows.length > 0) await announce(space, 'record.updated', announced());
    wrote(rows.length);
    return jsonAnswer(JSON.stringify({ updated: rows.length }));
  },
  summary: 'Change all records that match',
  description:
    'All of them, or none; 10,000 at most. `set` says what fields become, `inc` what is added to them. All records of the space are meant by `{"id": {"exists": true}}` only.',
  options: true,
  isRecord: false,
  body: ({ where, changes }) => ({
    schema: exactObject(
      {
        where,
        set: changes.schema,
        inc: { type: 'object', additionalProperties: { type: 'number' } },
      },
      { optional: ['where', 'set', 'inc'] },
    ),
    example: { where: changes.example, set: changes.example },
  }),
  answer: () => exactObject({ updated: { ...count, description: 'How many records matched' } }),
  errors: [...conditionErrors, ...writeErrors, 'no_conditions', 'query_too_expensive'],
  sample: { first: makePerson, body: { where: { name: 'Ada' }, set: { age: 37 } } },
};
