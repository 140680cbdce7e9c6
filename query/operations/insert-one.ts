import { validateRecord } from '../input/validate-record.ts';
import { writeErrors } from '../openapi/describe-operation.ts';
import { type NewRecord, newRecordJson } from '../sql/new-record.ts';
import { jsonAnswer } from './json-answer.ts';
import type { OperationDefinition } from './operation.ts';

/** POST /{project}/{space}/_single_: stores a record and answers it. */
export const insertOne: OperationDefinition = {
  async run({ request, open, body }, { records, announce }) {
    const space = await open();
    const values = validateRecord(await body(), space.structure);
    const [stored] = await records.store(space, [values], request.signal);
    const record = stored as NewRecord;
    const json = newRecordJson(space.structure, record);
    await announce(space, 'record.inserted', [{ id: record.id, json }]);
    return jsonAnswer(json);
  },
  summary: 'Insert a record',
  body: ({ newRecord, examples }) => ({ schema: newRecord, example: examples.newRecord }),
  answer: ({ record }) => record,
  errors: writeErrors,
  sample: {},
};
