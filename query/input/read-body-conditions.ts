import { invalidBody } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import { filterLimits } from '#records/input/filters/filter.ts';
import {
  type GivenFilter,
  type GivenGroup,
  groupNames,
  tooDeep,
} from '#records/input/filters/given-filter.ts';
import { subjectOf } from '#records/input/filters/names.ts';
import type { Structure } from '#records/structure/structure.ts';
import { typeCan } from '#records/types/field-types.ts';

/**
 * Reads the JSON of a body: an object of conditions, or an array of [field, value] and [field, operator, value]. An object
 * under a field has operators, but under an OBJECT field it is a value. Throws a 400 for any other JSON.
 */
export function readBodyConditions(input: unknown, structure: Structure): readonly GivenFilter[] {
  const entries = parseEntries(input);
  if (entries === null) throw invalidBody(`Request body ${expectedForm}`);
  return entries.flatMap((entry) => readEntry(entry, structure, 0));
}

const expectedForm =
  'should be a JSON object of conditions, or an array of [field, value] pairs and [field, operator, value] triples';

type ConditionEntry =
  | readonly [name: string, value: unknown]
  | readonly [name: string, operator: string, operand: unknown];

/** Null: neither an object nor an array of pairs and triples. */
function parseEntries(input: unknown): readonly ConditionEntry[] | null {
  if (typeof input !== 'object' || input === null) return null;
  const entries: readonly unknown[] = Array.isArray(input) ? input : Object.entries(input);
  return entries.every(isConditionEntry) ? entries : null;
}

function isConditionEntry(entry: unknown): entry is ConditionEntry {
  if (!Array.isArray(entry) || typeof entry[0] !== 'string') return false;
  return entry.length === 2 || (entry.length === 3 && typeof entry[1] === 'string');
}

function readEntry(
  [name, value, ...operand]: ConditionEntry,
  structure: Structure,
  level: number,
): readonly GivenFilter[] {
  if (operand.length > 0) return [{ name, operator: value as string, operand: { json: operand[0] } }];
  const subject = subjectOf(name, structure);
  const group = subject === null && Object.hasOwn(groupNames, name) ? groupNames[name] : undefined;
  if (group !== undefined) return [readGroup(name, group, value, structure, level + 1)];
  const target = subject?.target;
  const isValue = typeof target === 'object' && typeCan(target.type, 'paths') && subject?.path.length === 0;
  if (typeof value !== 'object' || value === null || Array.isArray(value) || isValue) {
    if (level > 0 || (subject !== null && subject.path.length > 0))
      return [{ name, operator: 'eq', operand: { json: value } }];
    // the same as in a query: text as it is, any other value as JSON
    const texts = [typeof value === 'string' ? value : JSON.stringify(value)];
    return [{ name, operator: 'eq', operand: { texts } }];
  }
  const operators = Object.entries(value);
  if (operators.length === 0)
    return [{ problem: `Query field: ${shownName(name)} has an object without an operator` }];
  return operators.map(([operator, json]) => ({ name, operator, operand: { json } }));
}

function readGroup(
  name: string,
  group: GivenGroup['group'],
  value: unknown,
  structure: Structure,
  level: number,
): GivenFilter {
  if (level > filterLimits.levels) return tooDeep;
  const branches = Array.isArray(value) ? value.map(parseEntries) : [];
  // an empty branch may come from undefined values that a client dropped: it must not match every record
  if (branches.length === 0 || branches.some((branch) => branch?.length === 0))
    return { problem: `Query field: ${shownName(name)} should be a list of conditions, none of them empty` };
  return {
    group,
    branches: branches.map((branch) =>
      branch === null
        ? [{ problem: `A branch of ${shownName(name)} ${expectedForm}` }]
        : branch.flatMap((entry) => readEntry(entry, structure, level)),
    ),
  };
}
