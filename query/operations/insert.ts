import { arrayOf, count, exactObject } from '#kernel/json/schema.ts';
import { parseOnConflict } from '#records/input/parse-on-conflict.ts';
import { validateRecord, validateRecords } from '#records/input/validate-record.ts';
import type { InsertOutcome } from '#records/record-inserts.ts';
import { type NewRecord, newRecordJson, newRecordsJson } from '#records/sql/new-record.ts';
import type { HttpResponse } from '#server/http/http-types.ts';
import { keyErrors, keyParameter, replayedHeader, replayedHeaders } from '#server/http/idempotency-key.ts';
import { minimalApplied, minimalHeaders, minimalParameter, prefersMinimal } from '#server/http/prefer.ts';
import { type ApiAnswer, type ApiParameter, jsonContent } from '#server/openapi/api-operation.ts';
import { readInsertKey } from '../input/read-insert-key.ts';
import { writeErrors } from '../openapi/describe-operation.ts';
import { jsonAnswer, jsonHeaders } from './json-answer.ts';
import type { OperationDefinition } from './operation.ts';
import { upsert } from './upsert.ts';

const onConflictParameter: ApiParameter = {
  name: 'options',
  in: 'header',
  description:
    'JSON. With `onConflict`, a record whose unique value is already stored is not an error: `update` changes the stored record, `skip` leaves it as it is. The answer has the records as they are stored afterwards',
  json: {
    type: 'object',
    properties: {
      onConflict: exactObject({
        field: { type: 'string', description: 'A unique field, by name or slug' },
        do: { type: 'string', enum: ['update', 'skip'] },
      }),
    },
  },
  example: {},
};

/** The answer to `Prefer: return=minimal`. */
const minimalAnswer: ApiAnswer = {
  description: 'With `Prefer: return=minimal`',
  headers: { ...minimalHeaders, ...replayedHeaders },
  content: jsonContent(
    {
      ...exactObject({ inserted: count, updated: count, skipped: count }),
      required: ['inserted'],
      description: '`updated` and `skipped` with `onConflict` only',
    },
    { inserted: 2 },
  ),
};

const inserts = {
  parameters: () => [keyParameter, onConflictParameter],
  answerHeaders: replayedHeaders,
  errors: [...writeErrors, ...keyErrors, 'invalid_options'],
} satisfies Partial<OperationDefinition>;

export const insert: OperationDefinition = {
  async run(call, deps) {
    const { request } = call;
    const { signal } = request;
    const space = await call.open();
    const { structure } = space;
    const input = await call.body();
    const values = await validateRecords(input, structure, signal);
    const onConflict = parseOnConflict(request.header('options'), structure);
    const isMinimal = prefersMinimal(request);
    if (onConflict !== null) {
      const many = { space, onConflict, given: input as readonly unknown[], values };
      const { records, ...counts } = await upsert(call, deps, many);
      return isMinimal ? countsAnswer(counts) : jsonAnswer(`[${records.join()}]`);
    }
    const stored = await deps.records.store(space, values, signal, readInsertKey(request, space, input));
    if (isMinimal) return countsAnswer({ inserted: stored.records.length }, stored);
    return insertAnswer(await newRecordsJson(structure, stored.records, signal), stored);
  },
  summary: 'Insert records',
  description:
    'From a JSON array, or as NDJSON. All are stored, or none. They are durable before the answer, and every later find sees them.',
  bodyLimit: 'maxRecordsBytes',
  takesLines: true,
  ...inserts,
  parameters: () => [...inserts.parameters(), minimalParameter],
  answers: { 201: minimalAnswer },
  body: ({ newRecord }) => ({
    schema: { ...arrayOf(newRecord.schema), minItems: 1 },
    example: [newRecord.example],
  }),
  answer: ({ record }) => arrayOf(record),
  sample: {
    body: [
      { name: 'Ada', age: 36 },
      { name: 'Grace', age: 45 },
    ],
  },
};

export const insertOne: OperationDefinition = {
  async run(call, deps) {
    const { request } = call;
    const space = await call.open();
    const input = await call.body();
    const values = validateRecord(input, space.structure);
    const onConflict = parseOnConflict(request.header('options'), space.structure);
    if (onConflict !== null) {
      const one = { space, onConflict, given: [input], values: [values] };
      return jsonAnswer((await upsert(call, deps, one)).records[0] as string);
    }
    const stored = await deps.records.store(
      space,
      [values],
      request.signal,
      readInsertKey(request, space, input),
    );
    const record = stored.records[0] as NewRecord;
    return insertAnswer(newRecordJson(space.structure, record), stored);
  },
  summary: 'Insert a record',
  ...inserts,
  body: ({ newRecord }) => newRecord,
  answer: ({ record }) => record,
  sample: {},
};

/** The result of an insert, or of the earlier request with its key. */
function insertAnswer(body: string | Uint8Array, { replayed }: InsertOutcome): HttpResponse {
  return jsonAnswer(body, replayed ? { ...jsonHeaders, ...replayedHeader } : jsonHeaders);
}

/** The answer without a copy of the records. */
function countsAnswer(
  counts: Readonly<Record<string, number>>,
  { replayed }: Pick<InsertOutcome, 'replayed'> = { replayed: false },
): HttpResponse {
  const headers = { ...jsonHeaders, ...minimalApplied, ...(replayed && replayedHeader) };
  return { status: 201, headers, body: JSON.stringify(counts) };
}
