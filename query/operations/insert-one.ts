import { validateRecord } from '../input/validate-record.ts';
import { type StoredRow, storedJson } from '../records/record-row.ts';
import { jsonAnswer } from './json-answer.ts';
import type { RunOperation } from './operation.ts';

/** POST /{project}/{space}/_single_: stores a record and answers it. */
export const insertOne: RunOperation = async ({ request, open, body }, { records, webhooks }) => {
  const space = await open();
  const values = validateRecord(await body(), space.structure);
  const [stored] = await records.store(space, [values], request.signal);
  const record = stored as StoredRow;
  const json = storedJson(space.structure, record);
  await webhooks.announce(space, 'record.inserted', [{ id: record._id, json }]);
  return jsonAnswer(json);
};
