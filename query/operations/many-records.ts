import { invalidCondition } from '#kernel/errors/catalogue.ts';
import { count, exactObject, type Schema } from '#kernel/json/schema.ts';
import type { Conditions } from '#records/input/parse-conditions.ts';
import type { RecordReader } from '#records/record-reader.ts';
import { ruledFor } from '#records/ruled.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { manyKeys, readAll, readManyChanges, readWhere } from '../input/many-records.ts';
import { PartReader } from '../input/part-reader.ts';
import { conditionErrors, writeErrors } from '../openapi/describe-operation.ts';
import { makePerson } from '../openapi/operation-sample.ts';
import { jsonAnswer } from './json-answer.ts';
import type { OperationDefinition } from './operation.ts';

/** The most that one request may change or delete: records, and bytes of their values. They are held in memory and written at once. */
export const manyLimits = { records: 10_000, bytes: 16 * 1024 * 1024 } as const;

const all: Schema = { type: 'boolean', description: 'Allows conditions that hold for every record' };
const matched = { ...count, description: 'How many records matched' };

export const updateMany: OperationDefinition = {
  async run({ request, open, body, wrote }, { reader, changes }) {
    const { signal } = request;
    const space = await open();
    const { structure } = space;
    const { where, all, set, inc } = manyKeys(await body(), ['where', 'all', 'set', 'inc']);
    const parts = new PartReader();
    const conditions = readWhere(parts, where, request, structure, { all: readAll(parts, all) });
    const assignments = readManyChanges(parts, { set, inc }, structure);
    parts.check();
    const added = Buffer.byteLength([...assignments.values()].join(''));
    const ruled = ruledFor(space, 'update', conditions);
    const find = () => idsOfMany(reader, { space, conditions: ruled, added }, signal);
    const { length: updated } = await changes.changeAll(space, find, assignments, signal);
    wrote(updated);
    return jsonAnswer(JSON.stringify({ updated }));
  },
  summary: 'Change all records that match',
  description:
    'All of them, or none; at most 10,000. `set` has new values, `inc` has numbers to add. Conditions that hold for every record, such as an empty object, need `"all": true`.',
  options: true,
  isRecord: false,
  body: ({ where, changes }) => ({
    schema: exactObject(
      {
        where,
        all,
        set: changes.schema,
        inc: { type: 'object', additionalProperties: { type: 'number' } },
      },
      { optional: ['where', 'all', 'set', 'inc'] },
    ),
    example: { where: changes.example, set: changes.example },
  }),
  answer: () => exactObject({ updated: matched }),
  errors: [...conditionErrors, ...writeErrors, 'no_conditions', 'query_too_expensive'],
  sample: { first: makePerson, body: { where: { name: 'Ada' }, set: { age: 37 } } },
};

export const deleteMany: OperationDefinition = {
  async run({ request, open, body, wrote }, { reader, changes }) {
    const { signal } = request;
    const space = await open();
    const { where, all } = manyKeys(await body(), ['where', 'all']);
    const parts = new PartReader();
    const conditions = readWhere(parts, where, request, space.structure, { all: readAll(parts, all) });
    parts.check();
    const ruled = ruledFor(space, 'delete', conditions);
    const find = () => idsOfMany(reader, { space, conditions: ruled, added: 0 }, signal);
    const { length: deleted } = await changes.changeAll(space, find, null, signal);
    wrote(deleted);
    return jsonAnswer(JSON.stringify({ deleted }));
  },
  summary: 'Delete all records that match',
  description:
    'All of them, or none; at most 10,000. Conditions that hold for every record, such as an empty object, need `"all": true`.',
  options: true,
  isRecord: false,
  body: ({ where, changes }) => ({
    schema: exactObject({ where, all }, { optional: ['where', 'all'] }),
    example: { where: changes.example },
  }),
  answer: () => exactObject({ deleted: matched }),
  errors: [...conditionErrors, 'no_conditions', 'query_too_expensive', 'unavailable'],
  sample: { first: makePerson, body: { where: { name: 'Ada' } } },
};

/** Ids of the records that match. Rejects with a 400 if there are too many. @param added bytes that the change may add to each */
async function idsOfMany(
  reader: RecordReader,
  { space, conditions, added }: { space: RecordSpace; conditions: Conditions; added: number },
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { records, bytes } = manyLimits;
  const found = await reader.matching(space, { conditions, limit: records + 1 }, signal);
  const size = found.reduce((sum, { _bytes }) => sum + _bytes + added, 0);
  const tooMany = found.length > records ? `more than ${records} records` : `records of ${size} bytes`;
  if (found.length > records || size > bytes)
    throw invalidCondition([
      `The conditions match ${tooMany}; at most ${records} of ${bytes} bytes in all can be changed at once`,
    ]);
  return found.map(({ _id }) => _id);
}
