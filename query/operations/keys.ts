import { notAllowed } from '#kernel/errors/catalogue.ts';
import { allRecords } from '#records/input/parse-conditions.ts';
import { type Changes, firstValues, validateChanges } from '#records/input/validate-changes.ts';
import { oldest } from '#records/record-reader.ts';
import { ruledFor, unbound } from '#records/ruled.ts';
import { newRecordJson } from '#records/sql/new-record.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import type { AskedConditions } from '../input/asked-conditions.ts';
import { changedRecord, writeErrors } from '../openapi/describe-operation.ts';
import { jsonAnswer, jsonHeaders } from './json-answer.ts';
import type { OperationDefinition, QueryParts } from './operation.ts';
import { type RecordPlan, RecordRead } from './record-read.ts';

/** A key group is the one record of a space. */
export const getKeys: OperationDefinition = {
  run(call, deps) {
    return new KeyGroup(call, deps).answer();
  },
  summary: 'Get the keys of a key group',
  description: 'The one record of the space, or `null`.',
  answer: ({ recordOrNull }) => recordOrNull,
  sample: {},
};

const noConditions: AskedConditions = { body: undefined, key: '' };

class KeyGroup extends RecordRead {
  protected readonly name = 'getKeys';
  protected override readonly headers = jsonHeaders;

  protected override conditions(): AskedConditions {
    return noConditions;
  }

  protected plan(): RecordPlan {
    return { conditions: null, populate: null, counted: null, read: oldest };
  }
}

/** Required keys may come later than with the first call. */
export const setKeys: OperationDefinition = {
  async run({ request, open, body }, deps) {
    const { signal } = request;
    const space = await open();
    const wanted = validateChanges(await body(), space.structure);
    for (;;) {
      const id = await deps.reader.oldestId(unbound(space), signal);
      if (id !== null && space.bound !== undefined) await assertMayChange(deps, space, id, signal);
      const group =
        id === null
          ? await make(deps, space, wanted, signal)
          : await deps.changes.update(space, { id }, wanted, signal);
      if (group !== null) return jsonAnswer(group);
      // it was made, or cleared, in between
    }
  },
  summary: 'Set keys of a key group',
  description: 'Sets them in the one record of the space, which the first call creates.',
  ...changedRecord,
  errors: writeErrors,
  sample: { body: { name: 'Ada', age: 36 } },
};

/** Rejects with a 403: an update would answer that there is no such record, and this one is there. */
async function assertMayChange(
  { reader }: QueryParts,
  space: RecordSpace,
  id: string,
  signal: AbortSignal,
): Promise<void> {
  if (await reader.matches(space, ruledFor(space, 'update', allRecords), id, signal)) return;
  throw notAllowed('The rules of the record space do not let this user change its keys');
}

/** Null: there is a key group by now. */
async function make(
  deps: QueryParts,
  space: RecordSpace,
  wanted: Changes,
  signal: AbortSignal,
): Promise<string | null> {
  const { structure } = space;
  const stored = await deps.records.storeFirst(space, firstValues(wanted, structure), signal);
  return stored === null ? null : newRecordJson(structure, stored);
}
