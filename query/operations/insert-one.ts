import { validateRecord } from '../input/validate-record.ts';
import { type NewRecord, recordJson } from '../records/record-row.ts';
import { jsonAnswer } from './json-answer.ts';
import type { RunOperation } from './operation.ts';

/** POST /{project}/{space}/_single_: stores a record and answers it. */
export const insertOne: RunOperation = async ({ request, open, body }, { records }) => {
  const space = await open();
  const values = validateRecord(await body(), space.structure);
  const [stored] = await records.store(space, [values], request.signal);
  return jsonAnswer(recordJson(space.structure, stored as NewRecord));
};
