import { ApiError } from '#kernel/errors/api-error.ts';
import { invalidCondition, noMatch } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import { string } from '#kernel/json/schema.ts';
import { validateChanges } from '#records/input/validate-changes.ts';
import { hasLoneSurrogate } from '#records/types/text.ts';
import type { QueryPairs } from '#server/http/http-types.ts';
import type { ApiParameter } from '#server/openapi/api-operation.ts';
import { changedRecord, writeErrors } from '../openapi/describe-operation.ts';
import { idOfNewPerson } from '../openapi/operation-sample.ts';
import { jsonAnswer } from './json-answer.ts';
import type { OperationDefinition } from './operation.ts';

const id: ApiParameter = {
  name: 'id',
  in: 'query',
  required: true,
  description: 'The id of the record',
  schema: string,
  example: '0197a5c8-7c1e-7d3a-9b52-0c9f6e1d2a34',
};

const byId = {
  parameters: () => [id],
  sample: { first: idOfNewPerson, query: '?id=$ID' },
} satisfies Partial<OperationDefinition>;

/** Reads the query of an operation on one record: only `id`, once. Throws a 400 that lists every problem. */
export function parseId(pairs: QueryPairs): string {
  const problems: string[] = [];
  const ids: string[] = [];
  for (const [key, value] of pairs) {
    if (key === 'id') ids.push(value);
    else problems.push(`Query field: ${shownName(key)} is not known here: only 'id' is allowed`);
  }
  const id = ids[0];
  if (id === undefined) problems.push(`Query field: 'id' is missing`);
  else if (ids.length > 1) problems.push(`Query field: 'id' is given ${ids.length} times`);
  else if (hasLoneSurrogate(id)) problems.push(`Value for Query field: 'id' should be a valid string`);
  if (problems.length > 0) throw invalidCondition(problems);
  return id as string;
}

function noSuchRecord(id: string): Error {
  return noMatch(`No record has the id ${shownName(id)}`);
}

export const updateOneById: OperationDefinition = {
  async run({ request, open, body }, deps) {
    const { query, signal } = request;
    const space = await open();
    const id = parseId(query);
    const changes = validateChanges(await body(), space.structure);
    const record = await deps.changes.update(space, { id }, changes, signal).catch(async (error: unknown) => {
      // as in updateOne, a missing record is reported before the problems of its new values
      const taken = error instanceof ApiError && error.code === 'not_unique';
      if (taken && (await deps.reader.byId(space, id, signal)) === null) return null;
      throw error;
    });
    if (record === null) throw noSuchRecord(id);
    return jsonAnswer(record);
  },
  summary: 'Change the record with an id',
  ...byId,
  ...changedRecord,
  errors: ['invalid_condition', ...writeErrors, 'no_match'],
};

export const deleteOneById: OperationDefinition = {
  async run({ request, open }, { changes }) {
    const { query, signal } = request;
    const space = await open();
    const id = parseId(query);
    const record = await changes.remove(space, id, signal);
    if (record === null) throw noSuchRecord(id);
    return jsonAnswer(record);
  },
  summary: 'Delete the record with an id',
  description: 'Answers the record that was deleted.',
  ...byId,
  answer: ({ record }) => record,
  errors: ['invalid_condition', 'no_match', 'unavailable'],
};
