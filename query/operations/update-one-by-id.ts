import { ApiError } from '../../common/errors/api-error.ts';
import { noMatch } from '../../common/errors/catalogue.ts';
import { shownName } from '../../common/errors/shown-name.ts';
import { parseId } from '../input/parse-id.ts';
import { validateChanges } from '../input/validate-changes.ts';
import { changedRecord, idParameter, writeErrors } from '../openapi/describe-operation.ts';
import { idOfNewPerson } from '../openapi/operation-sample.ts';
import { jsonAnswer } from './json-answer.ts';
import type { OperationDefinition } from './operation.ts';

/** POST /{project}/{space}/update-by-id?id=: changes fields of the record and answers it as it is then. */
export const updateOneById: OperationDefinition = {
  async run({ request, open, body }, { reader, changes, announce }) {
    const { query, signal } = request;
    const space = await open();
    const id = parseId(query);
    const wanted = validateChanges(await body(), space.structure);
    const record = await changes.update(space, { id }, wanted, signal).catch(async (error: unknown) => {
      // as updateOne: a missing record is reported before the problems of its new values
      const taken = error instanceof ApiError && error.code === 'not_unique';
      if (taken && (await reader.byId(space, id, signal)) === null) return null;
      throw error;
    });
    if (record === null) throw noMatch(`No record has the id ${shownName(id)}`);
    await announce(space, 'record.updated', [{ id, json: record }]);
    return jsonAnswer(record);
  },
  summary: 'Change the record with an id',
  parameters: () => [idParameter],
  ...changedRecord,
  errors: ['invalid_condition', ...writeErrors, 'no_match'],
  sample: { first: idOfNewPerson, query: '?id=$ID' },
};
