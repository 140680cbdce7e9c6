import { noConditions, noMatch } from '#kernel/errors/catalogue.ts';
import { letOthersRun } from '#kernel/limits/yielding-loop.ts';
import { type Changes, validateChanges } from '#records/input/validate-changes.ts';
import { ruledFor } from '#records/ruled.ts';
import { PartReader } from '../input/part-reader.ts';
import { parseConditionParts, readQueryInput } from '../input/request-conditions.ts';
import { changedRecord, conditionErrors, writeErrors } from '../openapi/describe-operation.ts';
import { orderParameters } from '../openapi/filter-schemas.ts';
import { makePerson } from '../openapi/operation-sample.ts';
import { jsonAnswer } from './json-answer.ts';
import type { OperationDefinition } from './operation.ts';

/**
 * POST /{project}/{space}/update: changes fields of the record that findOne would answer, and answers the changed record.
 * It still matches when it is changed, so two requests that each claim the next record of a kind never get the same one.
 */
export const updateOne: OperationDefinition = {
  async run({ request, open, body }, { reader, changes }) {
    const { signal } = request;
    const space = await open();
    const { structure } = space;
    const input = readQueryInput(request.query, structure);
    const values = await body();
    const parts = new PartReader();
    const { options, conditions: filter } = parseConditionParts(parts, input, request, structure);
    // clients leave out conditions whose value is undefined: a mistake there should not change some other record
    parts.read(() => {
      if (input.conditions.length === 0) throw noConditions();
    }, undefined);
    const { sort, page } = options;
    const assignments = parts.read((): Changes => validateChanges(values, structure), new Map());
    parts.check();
    const conditions = ruledFor(space, 'update', filter);
    for (;;) {
      const id = await reader.firstId(space, { sort, page, conditions }, signal);
      if (id === null) throw noMatch('No record matches the conditions');
      const stillWanted = (): Promise<boolean> => reader.matches(space, conditions, id, signal);
      const record = await changes.update(space, { id, stillWanted }, assignments, signal);
      if (record !== null) return jsonAnswer(record);
      // somebody else changed or deleted it in between, and another record may match. An attempt may run entirely from
      // memory: without a pause no timer would run, and no deadline could end the request
      await letOthersRun(signal);
    }
  },
  summary: 'Change the record that findOne would return',
  parameters: ({ conditions }) => [...conditions, ...orderParameters],
  options: true,
  ...changedRecord,
  errors: [...conditionErrors, ...writeErrors, 'no_conditions', 'no_match', 'query_too_expensive'],
  sample: { first: makePerson, query: '?name=Ada' },
};
