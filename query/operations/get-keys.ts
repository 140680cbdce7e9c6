import type { Database } from '../../common/clickhouse/database.ts';
import type { Handler } from '../../common/http/http-types.ts';
import { findFirst } from '../records/find-first.ts';
import type { OpenRecordSpace } from '../space/open-space.ts';
import { jsonAnswer } from './json-answer.ts';

/** GET /{project}/{space}/get-key-values: the key group, or `null`. */
export function getKeys({ db, openSpace }: { db: Database; openSpace: OpenRecordSpace }): Handler {
  return async (request) => {
    const space = await openSpace(request, 'getKeys');
    return jsonAnswer((await findFirst(db, space, null, request.signal)) ?? 'null');
  };
}
