import type { Handler } from '../../common/http/http-types.ts';
import { readJson } from '../../common/http/read-json.ts';
import { jsonAnswer } from '../json-answer.ts';
import type { OpenRecordSpace } from '../open-record-space.ts';
import { validateRecords } from '../values/validate-record.ts';
import { recordJson } from '../write/record-row.ts';
import type { RecordStore } from '../write/store-records.ts';

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
    const values = validateRecords(await readJson(request, bodyLimit), space.structure);
    const stored = await records.store(space, values, request.signal);
    return jsonAnswer(`[${stored.map((record) => recordJson(space.structure, record)).join(',')}]`);
  };
}
