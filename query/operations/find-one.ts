import type { Handler } from '../../common/http/http-types.ts';
import { parseConditions } from '../input/parse-conditions.ts';
import { parseOptions } from '../input/parse-options.ts';
import { whereSql } from '../records/narrow-hashed.ts';
import { recordsSql } from '../sql/record-sql.ts';
import type { ReadDeps } from './find.ts';
import { jsonAnswer } from './json-answer.ts';

/**
 * GET /{project}/{space}/_single_: the first record that matches, or `null` (interface.md section 4.4).
 * A page begins where find's would: its limit does not matter, its offset does.
 */
export function findOne(deps: ReadDeps): Handler {
  return async (request) => {
    const { query, signal } = request;
    const space = await deps.openSpace(request, 'findOne');
    const { paramRelationship, sort, page } = parseOptions(request.header('options'), space.structure);
    const conditions = parseConditions(query, space.structure, paramRelationship);
    const selected = await whereSql(deps, space, conditions, signal);
    if (selected === 'nothing') return jsonAnswer('null');
    const options = { sort, page: { limit: 1, offset: page?.offset ?? 0 } };
    const sql = recordsSql({ space, where: selected.where, options });
    const [row] = await deps.db.rows<{ _record: string }>(sql, signal, space.table);
    return jsonAnswer(row?._record ?? 'null');
  };
}
