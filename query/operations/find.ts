import type { Database } from '../../common/clickhouse/database.ts';
import type { Handler } from '../../common/http/http-types.ts';
import { parseConditions } from '../input/parse-conditions.ts';
import { parseOptions } from '../input/parse-options.ts';
import type { Hasher } from '../records/hasher.ts';
import { whereSql } from '../records/narrow-hashed.ts';
import { streamRecords } from '../records/stream-records.ts';
import type { OpenRecordSpace } from '../space/open-space.ts';
import { jsonAnswer, jsonHeaders } from './json-answer.ts';

export interface ReadDeps {
  readonly db: Database;
  readonly hasher: Hasher;
  readonly openSpace: OpenRecordSpace;
}

/** GET /{project}/{space}: a JSON array of the records that match (interface.md section 4.3). */
export function find(deps: ReadDeps): Handler {
  return async (request) => {
    const { query, signal } = request;
    const space = await deps.openSpace(request, 'find');
    const options = parseOptions(request.header('options'), space.structure);
    const conditions = parseConditions(query, space.structure, options.paramRelationship);
    const selected = await whereSql(deps, space, conditions, signal);
    if (selected === 'nothing') return jsonAnswer('[]');
    const chunks = await streamRecords(deps.db, { space, where: selected.where, options }, signal);
    return { status: 200, headers: jsonHeaders, body: { chunks } };
  };
}
