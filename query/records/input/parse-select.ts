import { shownName } from '#kernel/errors/shown-name.ts';
import { type RecordParts, recordParts, type ShownValue } from '../structure/record-parts.ts';
import type { Structure } from '../structure/structure.ts';
import { subjectOf } from './filters/names.ts';
import type { Complain } from './given-fields.ts';

export const maxSelected = 1000;
/** As deep as values may be. */
const maxLevels = 100;

/** Reads the choice of values in answers. Null: all. @param label its name in problems */
export function parseSelect(
  value: unknown,
  structure: Structure,
  complain: Complain,
  label: string,
): RecordParts | null {
  if (value === undefined || value === null) return null;
  if (!Array.isArray(value) || value.length === 0) {
    complain(`${label} should name at least one field, in an array`);
    return null;
  }
  if (value.length > maxSelected) {
    complain(`${label} names ${value.length} fields; at most ${maxSelected} are allowed`);
    return null;
  }
  const shown: ShownValue[] = [];
  for (const name of value as readonly unknown[]) {
    const found = typeof name === 'string' ? subjectOf(name, structure) : null;
    const problem = problemOf(found);
    if (found !== null && problem === null) shown.push(found);
    else
      complain(
        `${label} names ${shownName(typeof name === 'string' ? name : JSON.stringify(name))}, which ${problem}`,
      );
  }
  return recordParts(shown, structure);
}

function problemOf(found: ShownValue | null): string | null {
  if (found === null) return 'is not a field of the structure';
  if (found.path.length > maxLevels) return `has more than ${maxLevels} levels`;
  return typeof found.target !== 'string' && found.target.hashed ? 'is hashed' : null;
}
