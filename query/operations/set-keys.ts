import type { AnnouncedRecord } from '../../common/record-events/record-event.ts';
import { type Changes, firstValues, validateChanges } from '../input/validate-changes.ts';
import { changedRecord, writeErrors } from '../openapi/describe-operation.ts';
import { newRecordJson } from '../sql/new-record.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import { jsonAnswer } from './json-answer.ts';
import type { OperationDefinition, OperationDeps } from './operation.ts';

/**
 * POST /{project}/{space}/set-key-values: sets keys of the space's key group, its one record, and answers the group as
 * it is then. The first call makes it; required keys may come later.
 */
export const setKeys: OperationDefinition = {
  async run({ request, open, body }, deps) {
    const { signal } = request;
    const space = await open();
    const wanted = validateChanges(await body(), space.structure);
    for (;;) {
      const id = await deps.reader.oldestId(space, signal);
      const group =
        id === null ? await make(deps, space, wanted, signal) : await change(deps, space, id, wanted, signal);
      if (group !== null) return jsonAnswer(group.json);
      // it was made, or cleared, in between
    }
  },
  summary: 'Set keys of a key group',
  description: 'Sets them in the one record of the space, which the first call creates.',
  ...changedRecord,
  errors: writeErrors,
  sample: { body: { name: 'Ada', age: 36 } },
};

/** Makes the key group unless there is one by now. */
async function make(
  { records, announce }: OperationDeps,
  space: RecordSpace,
  wanted: Changes,
  signal: AbortSignal,
): Promise<AnnouncedRecord | null> {
  const stored = await records.storeFirst(space, firstValues(wanted, space.structure), signal);
  if (stored === null) return null;
  const group = { id: stored.id, json: newRecordJson(space.structure, stored) };
  await announce(space, 'record.inserted', [group]);
  return group;
}

async function change(
  { changes, announce }: OperationDeps,
  space: RecordSpace,
  id: string,
  wanted: Changes,
  signal: AbortSignal,
): Promise<AnnouncedRecord | null> {
  const json = await changes.update(space, { id }, wanted, signal);
  if (json === null) return null;
  await announce(space, 'record.updated', [{ id, json }]);
  return { id, json };
}
