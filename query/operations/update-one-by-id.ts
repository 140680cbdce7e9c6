import { noMatch } from '../../common/errors/catalogue.ts';
import { shownName } from '../../common/errors/shown-name.ts';
import type { Handler } from '../../common/http/http-types.ts';
import { readJson } from '../../common/http/read-json.ts';
import { parseId } from '../input/parse-id.ts';
import { validateChanges } from '../input/validate-changes.ts';
import type { RecordChanges } from '../records/record-changes.ts';
import type { OpenRecordSpace } from '../space/open-space.ts';
import { jsonAnswer } from './json-answer.ts';

export interface UpdateDeps {
  readonly changes: RecordChanges;
  readonly openSpace: OpenRecordSpace;
  /** Bytes of a request body. */
  readonly bodyLimit: number;
}

/** POST /{project}/{space}/update-by-id?id=: changes fields of the record and answers it as it is then. */
export function updateOneById({ changes, openSpace, bodyLimit }: UpdateDeps): Handler {
  return async (request) => {
    const { query, signal } = request;
    const space = await openSpace(request, 'updateOneById');
    const id = parseId(query);
    const wanted = validateChanges(await readJson(request, bodyLimit), space.structure);
    const record = await changes.update(space, { id }, wanted, signal);
    if (record === null) throw noMatch(`No record has the id ${shownName(id)}`);
    return jsonAnswer(record);
  };
}
