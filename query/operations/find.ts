import type { Database } from '../../common/clickhouse/database.ts';
import type { Handler } from '../../common/http/http-types.ts';
import { parseConditions } from '../conditions/parse-conditions.ts';
import type { Hasher } from '../hashed/hasher.ts';
import { jsonAnswer, jsonHeaders } from '../json-answer.ts';
import type { OpenRecordSpace } from '../open-record-space.ts';
import { parseOptions } from '../options/parse-options.ts';
import { whereSql } from '../read/narrow-hashed.ts';
import { streamRecords } from '../read/stream-records.ts';

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
