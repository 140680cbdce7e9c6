import { invalidCondition } from '../../common/errors/catalogue.ts';
import { shownName } from '../../common/errors/shown-name.ts';
import type { QueryPairs } from '../../common/http/http-types.ts';
import { hasLoneSurrogate } from '../structure/field-value.ts';

/** The id of an operation on one record: `id`, once, and nothing else. Throws a 400 that lists every problem. */
export function parseId(pairs: QueryPairs): string {
  const problems: string[] = [];
  const ids: string[] = [];
  for (const [key, value] of pairs) {
    if (key === 'id') ids.push(value);
    else problems.push(`Query field: ${shownName(key)} is not known here; only 'id' is`);
  }
  const id = ids[0];
  if (id === undefined) problems.push(`Query field: 'id' is missing`);
  else if (ids.length > 1) problems.push(`Query field: 'id' is given ${ids.length} times`);
  else if (hasLoneSurrogate(id)) problems.push(`Value for Query field: 'id' should be a valid string`);
  if (problems.length > 0) throw invalidCondition(problems);
  return id as string;
}
