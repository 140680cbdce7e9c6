import type { Handler } from '../../common/http/http-types.ts';
import { readJson } from '../../common/http/read-json.ts';
import { validateRecords } from '../input/validate-record.ts';
import { recordsJson } from '../records/record-row.ts';
import type { RecordStore } from '../records/store-records.ts';
import type { OpenRecordSpace } from '../space/open-space.ts';
import { jsonAnswer } from './json-answer.ts';

export interface WriteDeps {
  readonly records: RecordStore;
  readonly openSpace: OpenRecordSpace;
  /** Bytes of a request body. */
  readonly bodyLimit: number;
}

/** POST /{project}/{space}: stores an array of records, all or none, and answers them in their order. */
export function insert({ records, openSpace, bodyLimit }: WriteDeps): Handler {
  return async (request) => {
    const space = await openSpace(request, 'insert');
    const { structure } = space;
    const { signal } = request;
    const values = await validateRecords(await readJson(request, bodyLimit), structure, signal);
    const stored = await records.store(space, values, signal);
    return jsonAnswer(await recordsJson(structure, stored, signal));
  };
}
