import { keyErrors, keyParameter, replayedHeaders } from '../../common/http/idempotency-key.ts';
import { validateRecord } from '../input/validate-record.ts';
import { writeErrors } from '../openapi/describe-operation.ts';
import { readInsertKey } from '../records/insert-receipts.ts';
import { type NewRecord, newRecordJson } from '../sql/new-record.ts';
import { insertAnswer } from './json-answer.ts';
import type { OperationDefinition } from './operation.ts';

/** POST /{project}/{space}/_single_: stores a record and answers it. */
export const insertOne: OperationDefinition = {
  async run({ request, open, body }, { records, announce }) {
    const space = await open();
    const parsed = await body();
    const values = validateRecord(parsed, space.structure);
    const stored = await records.store(space, [values], request.signal, readInsertKey(request, parsed));
    const record = stored.records[0] as NewRecord;
    const json = newRecordJson(space.structure, record);
    if (!stored.replayed) await announce(space, 'record.inserted', [{ id: record.id, json }]);
    return insertAnswer(json, stored);
  },
  summary: 'Insert a record',
  parameters: () => [keyParameter],
  body: ({ newRecord }) => newRecord,
  answer: ({ record }) => record,
  answerHeaders: replayedHeaders,
  errors: [...writeErrors, ...keyErrors],
  sample: {},
};
