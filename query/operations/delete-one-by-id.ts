import { noMatch } from '../../common/errors/catalogue.ts';
import { shownName } from '../../common/errors/shown-name.ts';
import type { Handler } from '../../common/http/http-types.ts';
import { parseId } from '../input/parse-id.ts';
import type { RecordChanges } from '../records/record-changes.ts';
import type { OpenRecordSpace } from '../space/open-space.ts';
import { jsonAnswer } from './json-answer.ts';

/** DELETE /{project}/{space}?id=: deletes the record and answers what it was. */
export function deleteOneById({
  changes,
  openSpace,
}: {
  changes: RecordChanges;
  openSpace: OpenRecordSpace;
}): Handler {
  return async (request) => {
    const { query, signal } = request;
    const space = await openSpace(request, 'deleteOneById');
    const id = parseId(query);
    const record = await changes.remove(space, id, signal);
    if (record === null) throw noMatch(`No record has the id ${shownName(id)}`);
    return jsonAnswer(record);
  };
}
