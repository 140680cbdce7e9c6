import { noMatch } from '../../common/errors/catalogue.ts';
import { shownName } from '../../common/errors/shown-name.ts';
import { parseId } from '../input/parse-id.ts';
import { jsonAnswer } from './json-answer.ts';
import type { RunOperation } from './operation.ts';

/** DELETE /{project}/{space}?id=: deletes the record and answers what it was. */
export const deleteOneById: RunOperation = async ({ request, open }, { changes }) => {
  const { query, signal } = request;
  const space = await open();
  const id = parseId(query);
  const record = await changes.remove(space, id, signal);
  if (record === null) throw noMatch(`No record has the id ${shownName(id)}`);
  return jsonAnswer(record);
};
