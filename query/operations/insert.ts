import type { AnnouncedRecord } from '../../common/record-events/record-event.ts';
import { validateRecords } from '../input/validate-record.ts';
import { type NewRecord, newRecordJson, newRecordsJson } from '../sql/new-record.ts';
import type { Structure } from '../structure/structure.ts';
import { jsonAnswer } from './json-answer.ts';
import type { RunOperation } from './operation.ts';

/** POST /{project}/{space}: stores an array of records, all or none, and answers them in their order. */
export const insert: RunOperation = async ({ request, open, body }, { records, announce }) => {
  const { signal } = request;
  const space = await open();
  const { structure } = space;
  const values = await validateRecords(await body(), structure, signal);
  const stored = await records.store(space, values, signal);
  await announce(space, 'record.inserted', announced(structure, stored));
  return jsonAnswer(await newRecordsJson(structure, stored, signal));
};

function* announced(structure: Structure, records: readonly NewRecord[]): Generator<AnnouncedRecord> {
  for (const record of records) yield { id: record.id, json: newRecordJson(structure, record) };
}
