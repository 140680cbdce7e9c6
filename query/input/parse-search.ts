import { invalidCondition } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import type { Field } from '#records/structure/field.ts';
import type { Structure } from '#records/structure/structure.ts';
import { typeCan, typesThat } from '#records/types/field-types.ts';
import { hasLoneSurrogate } from '#records/types/text.ts';
import type { QueryPairs } from '#server/http/http-types.ts';

export interface Search {
  readonly text: string;
  readonly fields: readonly Field[];
}

/** The parameters of a search; any others are conditions. */
export const searchKeys: readonly string[] = ['searchText', 'searchableFields[]', 'searchableFields'];

/** Characters (UTF-16) of a text to search for. */
export const longestText = 1000;
export const maxSearchedFields = 100;

/**
 * Reads the query of a search: `searchText` once, and `searchableFields[]` (as axios writes arrays) or
 * `searchableFields`, once for each field. Throws a 400 that lists every problem.
 */
export function parseSearch(pairs: QueryPairs, structure: Structure): Search {
  const problems: string[] = [];
  const texts: string[] = [];
  const fields = new Set<Field>();
  let named = 0;
  for (const [key, value] of pairs) {
    if (key === 'searchText') {
      texts.push(value);
    } else if (key === 'searchableFields[]' || key === 'searchableFields') {
      if (++named > maxSearchedFields) continue;
      const field = structure.lookup.get(value);
      const problem = fieldProblem(field);
      if (problem !== null) problems.push(`Query field: ${key} names ${shownName(value)}, which ${problem}`);
      else fields.add(field as Field);
    }
  }
  if (named === 0) problems.push('Query field: searchableFields is missing: name at least one TEXT field');
  if (named > maxSearchedFields)
    problems.push(`The query has ${named} searchableFields; at most ${maxSearchedFields} are allowed`);
  const text = texts[0] ?? '';
  if (texts.length !== 1) {
    problems.push(
      `Query field: searchText is ${texts.length === 0 ? 'missing' : `given ${texts.length} times`}`,
    );
  } else if (text.length > longestText) {
    problems.push(
      `Query field: searchText has ${text.length} characters; at most ${longestText} are allowed`,
    );
  } else if (hasLoneSurrogate(text)) {
    problems.push('Value for Query field: searchText should be a valid string');
  }
  if (problems.length > 0) throw invalidCondition(problems);
  return { text, fields: [...fields] };
}

function fieldProblem(field: Field | undefined): string | null {
  if (field === undefined) return 'is not a field of the structure';
  if (field.hashed) return 'is hashed';
  return typeCan(field.type, 'text')
    ? null
    : `is of type ${field.type}: only ${typesThat('text').join(', ')} fields can be searched`;
}
