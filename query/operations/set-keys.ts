import type { Database } from '../../common/clickhouse/database.ts';
import type { Handler } from '../../common/http/http-types.ts';
import { readJson } from '../../common/http/read-json.ts';
import { validateChanges } from '../input/validate-changes.ts';
import { validateRecord } from '../input/validate-record.ts';
import { recordJson } from '../records/record-row.ts';
import type { RecordStore } from '../records/store-records.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import { jsonAnswer } from './json-answer.ts';
import type { UpdateDeps } from './update-one-by-id.ts';

/**
 * POST /{project}/{space}/set-key-values: sets keys of the space's key group, its one record, and answers the group as
 * it is then. The first call makes it, and has to give what insertOne would have to.
 */
export function setKeys(deps: UpdateDeps & { db: Database; records: RecordStore }): Handler {
  const { db, changes, records, openSpace, bodyLimit } = deps;

  const groupId = async (space: RecordSpace, signal: AbortSignal): Promise<string | null> => {
    const sql = `SELECT _id FROM ${space.table} ORDER BY _id LIMIT 1`;
    const [row] = await db.rows<{ _id: string }>(sql, signal, space.table);
    return row?._id ?? null;
  };

  /** Makes the key group unless there is one by now. */
  const make = async (space: RecordSpace, body: unknown, signal: AbortSignal): Promise<string | null> => {
    const stored = await records.storeFirst(space, validateRecord(body, space.structure), signal);
    return stored === null ? null : recordJson(space.structure, stored);
  };

  return async (request) => {
    const { signal } = request;
    const space = await openSpace(request, 'setKeys');
    const body = await readJson(request, bodyLimit);
    const wanted = validateChanges(body, space.structure);
    for (;;) {
      const id = await groupId(space, signal);
      const group =
        id === null ? await make(space, body, signal) : await changes.update(space, { id }, wanted, signal);
      if (group !== null) return jsonAnswer(group);
      // it was made, or cleared, in between
    }
  };
}
