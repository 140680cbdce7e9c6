import { keyErrors, keyParameter, replayedHeaders } from '../../common/http/idempotency-key.ts';
import { onConflictParameter, parseOnConflict } from '../input/parse-on-conflict.ts';
import { validateRecord } from '../input/validate-record.ts';
import { writeErrors } from '../openapi/describe-operation.ts';
import { readInsertKey } from '../records/insert-receipts.ts';
import { type NewRecord, newRecordJson } from '../sql/new-record.ts';
import { insertAnswer, jsonAnswer } from './json-answer.ts';
import type { OperationDefinition } from './operation.ts';
import { upsert } from './upsert.ts';

/** POST /{project}/{space}/_single_: stores a record and answers it. */
export const insertOne: OperationDefinition = {
  async run(call, deps) {
    const { request } = call;
    const { records, announce } = deps;
    const space = await call.open();
    const parsed = await call.body();
    const values = validateRecord(parsed, space.structure);
    const onConflict = parseOnConflict(request.header('options'), space.structure);
    if (onConflict !== null) {
      const one = { space, onConflict, given: [parsed], values: [values] };
      return jsonAnswer((await upsert(call, deps, one))[0] as string);
    }
    const stored = await records.store(space, [values], request.signal, readInsertKey(request, parsed));
    const record = stored.records[0] as NewRecord;
    const json = newRecordJson(space.structure, record);
    if (!stored.replayed) await announce(space, 'record.inserted', [{ id: record.id, json }]);
    return insertAnswer(json, stored);
  },
  summary: 'Insert a record',
  parameters: () => [keyParameter, onConflictParameter],
  body: ({ newRecord }) => newRecord,
  answer: ({ record }) => record,
  answerHeaders: replayedHeaders,
  errors: [...writeErrors, ...keyErrors, 'invalid_options'],
  sample: {},
};
