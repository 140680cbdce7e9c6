import { validateRecords } from '../input/validate-record.ts';
import { newRecordJson, newRecordsJson } from '../records/new-record.ts';
import { jsonAnswer } from './json-answer.ts';
import type { RunOperation } from './operation.ts';

/** POST /{project}/{space}: stores an array of records, all or none, and answers them in their order. */
export const insert: RunOperation = async ({ request, open, body }, { records, webhooks }) => {
  const { signal } = request;
  const space = await open();
  const { structure } = space;
  const values = await validateRecords(await body(), structure, signal);
  const stored = await records.store(space, values, signal);
  if (webhooks.wants(space, 'record.inserted')) {
    const announced = stored.map((record) => ({ id: record.id, json: newRecordJson(structure, record) }));
    await webhooks.announce(space, 'record.inserted', announced);
  }
  return jsonAnswer(await newRecordsJson(structure, stored, signal));
};
