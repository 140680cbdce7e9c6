import type { Database } from '../../common/clickhouse/database.ts';
import { noMatch } from '../../common/errors/catalogue.ts';
import type { Handler } from '../../common/http/http-types.ts';
import { readJson } from '../../common/http/read-json.ts';
import { parseConditions } from '../input/parse-conditions.ts';
import { parseOptions } from '../input/parse-options.ts';
import { validateChanges } from '../input/validate-changes.ts';
import { findId, matches } from '../records/find-id.ts';
import type { Hasher } from '../records/hasher.ts';
import { jsonAnswer } from './json-answer.ts';
import type { UpdateDeps } from './update-one-by-id.ts';

/**
 * POST /{project}/{space}/update: changes fields of the record that findOne would answer, and answers it as it is then.
 * The record matches when it is changed: of several requests that take the next record of a kind, no two get the same.
 */
export function updateOne(deps: UpdateDeps & { db: Database; hasher: Hasher }): Handler {
  const { changes, openSpace, bodyLimit } = deps;
  return async (request) => {
    const { query, signal } = request;
    const space = await openSpace(request, 'updateOne');
    const options = parseOptions(request.header('options'), space.structure);
    const conditions = parseConditions(query, space.structure, options.paramRelationship);
    const wanted = validateChanges(await readJson(request, bodyLimit), space.structure);
    for (;;) {
      const id = await findId(deps, space, conditions, options, signal);
      if (id === null) throw noMatch('No record matches the conditions');
      const stillWanted = (): Promise<boolean> => matches(deps, space, conditions, id, signal);
      const record = await changes.update(space, { id, stillWanted }, wanted, signal);
      if (record !== null) return jsonAnswer(record);
      // somebody else changed or deleted it in between: another one may match
    }
  };
}
