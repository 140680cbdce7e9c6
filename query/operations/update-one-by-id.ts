import { noMatch } from '../../common/errors/catalogue.ts';
import { shownName } from '../../common/errors/shown-name.ts';
import { parseId } from '../input/parse-id.ts';
import { validateChanges } from '../input/validate-changes.ts';
import { jsonAnswer } from './json-answer.ts';
import type { RunOperation } from './operation.ts';

/** POST /{project}/{space}/update-by-id?id=: changes fields of the record and answers it as it is then. */
export const updateOneById: RunOperation = async ({ request, open, body }, { changes, webhooks }) => {
  const { query, signal } = request;
  const space = await open();
  const id = parseId(query);
  const wanted = validateChanges(await body(), space.structure);
  const record = await changes.update(space, { id }, wanted, signal);
  if (record === null) throw noMatch(`No record has the id ${shownName(id)}`);
  await webhooks.announce(space, 'record.updated', [{ id, json: record }]);
  return jsonAnswer(record);
};
