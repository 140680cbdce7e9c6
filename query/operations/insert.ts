import { keyErrors, keyParameter, replayedHeaders } from '../../common/http/idempotency-key.ts';
import { arrayOf } from '../../common/openapi/schema.ts';
import type { AnnouncedRecord } from '../../common/record-events/record-event.ts';
import { onConflictParameter, parseOnConflict } from '../input/parse-on-conflict.ts';
import { validateRecords } from '../input/validate-record.ts';
import { writeErrors } from '../openapi/describe-operation.ts';
import { readInsertKey } from '../records/insert-receipts.ts';
import { type NewRecord, newRecordJson, newRecordsJson } from '../sql/new-record.ts';
import type { Structure } from '../structure/structure.ts';
import { insertAnswer, jsonAnswer } from './json-answer.ts';
import type { OperationDefinition } from './operation.ts';
import { upsert } from './upsert.ts';

/** POST /{project}/{space}: stores an array of records, all or none, and answers them in their order. */
export const insert: OperationDefinition = {
  async run(call, deps) {
    const { request, body } = call;
    const { records, announce } = deps;
    const { signal } = request;
    const space = await call.open();
    const { structure } = space;
    const parsed = await body();
    const values = await validateRecords(parsed, structure, signal);
    const onConflict = parseOnConflict(request.header('options'), structure);
    if (onConflict !== null) {
      const given = parsed as readonly unknown[];
      const stored = await upsert(call, deps, { space, onConflict, given, values });
      return jsonAnswer(`[${stored.join()}]`);
    }
    const stored = await records.store(space, values, signal, readInsertKey(request, parsed));
    if (!stored.replayed) await announce(space, 'record.inserted', announced(structure, stored.records));
    return insertAnswer(await newRecordsJson(structure, stored.records, signal), stored);
  },
  summary: 'Insert records',
  description:
    'All are stored, or none. They are durable when the answer comes, and every later find sees them.',
  bodyLimit: 'maxRecordsBytes',
  parameters: () => [keyParameter, onConflictParameter],
  body: ({ newRecord }) => ({
    schema: { ...arrayOf(newRecord.schema), minItems: 1 },
    example: [newRecord.example],
  }),
  answer: ({ record }) => arrayOf(record),
  answerHeaders: replayedHeaders,
  errors: [...writeErrors, ...keyErrors, 'invalid_options'],
  sample: {
    body: [
      { name: 'Ada', age: 36 },
      { name: 'Grace', age: 45 },
    ],
  },
};

function* announced(structure: Structure, records: readonly NewRecord[]): Generator<AnnouncedRecord> {
  for (const record of records) yield { id: record.id, json: newRecordJson(structure, record) };
}
