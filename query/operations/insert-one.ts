import type { Handler } from '../../common/http/http-types.ts';
import { readJson } from '../../common/http/read-json.ts';
import { validateRecord } from '../input/validate-record.ts';
import { type NewRecord, recordJson } from '../records/record-row.ts';
import type { WriteDeps } from './insert.ts';
import { jsonAnswer } from './json-answer.ts';

/** POST /{project}/{space}/_single_: stores a record and answers it. */
export function insertOne({ records, openSpace, bodyLimit }: WriteDeps): Handler {
  return async (request) => {
    const space = await openSpace(request, 'insertOne');
    const values = validateRecord(await readJson(request, bodyLimit), space.structure);
    const [stored] = await records.store(space, [values], request.signal);
    return jsonAnswer(recordJson(space.structure, stored as NewRecord));
  };
}
