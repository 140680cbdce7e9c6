import { noConditions, noMatch } from '#kernel/errors/catalogue.ts';
import { letOthersRun } from '#kernel/limits/yielding-loop.ts';
import { type Changes, validateChanges } from '#records/input/validate-changes.ts';
import { ruledFor } from '#records/ruled.ts';
import { askedInQuery, askedParts } from '../input/asked-conditions.ts';
import { PartReader } from '../input/part-reader.ts';
import { changedRecord, conditionErrors, writeErrors } from '../openapi/describe-operation.ts';
import { orderParameters } from '../openapi/filter-schemas.ts';
import { makePerson } from '../openapi/operation-sample.ts';
import { jsonAnswer } from './json-answer.ts';
import type { OperationDefinition } from './operation.ts';

/**
 * POST /{project}/{space}/update: changes fields of the record that findOne would answer, and answers it as it is then.
 * The record matches when it is changed: of several requests that take the next record of a kind, no two get the same.
 */
export const updateOne: OperationDefinition = {
  async run({ request, open, body }, { reader, changes }) {
    const { signal } = request;
    const space = await open();
    const { structure } = space;
    const asked = askedInQuery(request.query, structure);
    const changed = await body();
    const parts = new PartReader();
    const { options, conditions: given } = askedParts(parts, asked, request, structure);
    // clients leave out conditions whose value is undefined: a mistake there should not change some other record
    parts.read(() => {
      if (asked.given.length === 0) throw noConditions();
    }, undefined);
    const { sort, page } = options;
    const wanted = parts.read((): Changes => validateChanges(changed, structure), new Map());
    parts.check();
    const conditions = ruledFor(space, 'update', given);
    for (;;) {
      const id = await reader.firstId(space, { sort, page, conditions }, signal);
      if (id === null) throw noMatch('No record matches the conditions');
      const stillWanted = (): Promise<boolean> => reader.matches(space, conditions, id, signal);
      const record = await changes.update(space, { id, stillWanted }, wanted, signal);
      if (record !== null) return jsonAnswer(record);
      // somebody else changed or deleted it in between: another one may match. All data of an attempt may be in
      // memory, so without a pause no timer would run, and no deadline end the request
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
