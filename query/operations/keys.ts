import { notAllowed } from '#kernel/errors/catalogue.ts';
import { allRecords } from '#records/input/parse-conditions.ts';
import { type Changes, firstValues, validateChanges } from '#records/input/validate-changes.ts';
import { oldest } from '#records/record-reader.ts';
import { ruledFor, unbound } from '#records/ruled.ts';
import { newRecordJson } from '#records/sql/new-record.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import type { RequestConditions } from '../input/request-conditions.ts';
import { changedRecord, writeErrors } from '../openapi/describe-operation.ts';
import { jsonAnswer, jsonHeaders } from './json-answer.ts';
import type { OperationDefinition, QueryParts } from './operation.ts';
import { type RecordPlan, RecordRead } from './record-read.ts';

/** A key group is the only record of its space. */
export const getKeys: OperationDefinition = {
  run(call, deps) {
    return new KeysRead(call, deps).answer();
  },
  summary: 'Get the keys of a key group',
  description: 'The only record of the space, or `null`.',
  answer: ({ recordOrNull }) => recordOrNull,
  sample: {},
};

const noConditions: RequestConditions = { body: undefined, key: '' };

class KeysRead extends RecordRead {
  protected readonly operation = 'getKeys';
  protected override readonly headers = jsonHeaders;

  protected override readConditions(): RequestConditions {
    return noConditions;
  }

  protected plan(): RecordPlan {
    return { conditions: null, populate: null, counted: null, read: oldest };
  }
}

/** The first call need not set the required keys. */
export const setKeys: OperationDefinition = {
  async run({ request, open, body }, deps) {
    const { signal } = request;
    const space = await open();
    const changes = validateChanges(await body(), space.structure);
    for (;;) {
      const id = await deps.reader.oldestId(unbound(space), signal);
      if (id !== null && space.bound !== undefined) await assertMayChange(deps, space, id, signal);
      const group =
        id === null
          ? await make(deps, space, changes, signal)
          : await deps.changes.update(space, { id }, changes, signal);
      if (group !== null) return jsonAnswer(group);
      // another request made or cleared it in between
    }
  },
  summary: 'Set keys of a key group',
  description: 'Sets them in the only record of the space, which the first call creates.',
  ...changedRecord,
  errors: writeErrors,
  sample: { body: { name: 'Ada', age: 36 } },
};

/** Rejects with a 403: an update would answer that there is no such record, although there is. */
async function assertMayChange(
  { reader }: QueryParts,
  space: RecordSpace,
  id: string,
  signal: AbortSignal,
): Promise<void> {
  if (await reader.matches(space, ruledFor(space, 'update', allRecords), id, signal)) return;
  throw notAllowed('The rules of the record space do not let this user change its keys');
}

/** Null: another request has made the key group. */
async function make(
  deps: QueryParts,
  space: RecordSpace,
  changes: Changes,
  signal: AbortSignal,
): Promise<string | null> {
  const { structure } = space;
  const stored = await deps.records.storeFirst(space, firstValues(changes, structure), signal);
  return stored === null ? null : newRecordJson(structure, stored);
}
