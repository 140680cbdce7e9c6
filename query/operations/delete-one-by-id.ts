import { noMatch } from '../../common/errors/catalogue.ts';
import { shownName } from '../../common/errors/shown-name.ts';
import { parseId } from '../input/parse-id.ts';
import { idParameter } from '../openapi/describe-operation.ts';
import { idOfNewPerson } from '../openapi/operation-sample.ts';
import { jsonAnswer } from './json-answer.ts';
import type { OperationDefinition } from './operation.ts';

/** DELETE /{project}/{space}?id=: deletes the record and answers what it was. */
export const deleteOneById: OperationDefinition = {
  async run({ request, open }, { changes }) {
    const { query, signal } = request;
    const space = await open();
    const id = parseId(query);
    const record = await changes.remove(space, id, signal);
    if (record === null) throw noMatch(`No record has the id ${shownName(id)}`);
    return jsonAnswer(record);
  },
  summary: 'Delete the record with an id',
  description: 'Answers the record that was deleted.',
  parameters: () => [idParameter],
  answer: ({ record }) => record,
  errors: ['invalid_condition', 'no_match', 'unavailable'],
  sample: { first: idOfNewPerson, query: '?id=$ID' },
};
