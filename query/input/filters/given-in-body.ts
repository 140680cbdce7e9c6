import { invalidBody, invalidCondition } from '../../../common/errors/catalogue.ts';
import { shownName } from '../../../common/errors/shown-name.ts';
import type { Structure } from '../../structure/structure.ts';
import { checkLevel, type Given, groupNames } from './given-filter.ts';
import { subjectOf } from './names.ts';

/**
 * Reads the JSON of a body: an object of conditions, or an array of [field, value] and [field, operator, value]. An object
 * under a field is operators, but under an OBJECT field a value. Throws a 400.
 */
export function givenInBody(input: unknown, structure: Structure, level = 0): readonly Given[] {
  checkLevel(level);
  if (typeof input !== 'object' || input === null) throw refusal();
  const entries: readonly unknown[] = Array.isArray(input) ? input : Object.entries(input);
  return entries.flatMap((entry) => {
    if (!Array.isArray(entry)) throw refusal();
    const [name, second, third] = entry as readonly unknown[];
    if (typeof name !== 'string') throw refusal();
    if (entry.length === 2) return givenBy(name, second, structure, level);
    if (entry.length !== 3 || typeof second !== 'string') throw refusal();
    return [{ name, operator: second, operand: { json: third } }];
  });
}

function givenBy(name: string, value: unknown, structure: Structure, level: number): readonly Given[] {
  const subject = subjectOf(name, structure);
  const group = subject === null && Object.hasOwn(groupNames, name) ? groupNames[name] : undefined;
  if (group !== undefined) {
    const branches = Array.isArray(value)
      ? value.map((branch) => givenInBody(branch, structure, level + 1))
      : [];
    // a client that leaves out what is undefined should not get every record
    if (branches.length === 0 || branches.some((items) => items.length === 0))
      throw invalidCondition([
        `Query field: ${shownName(name)} should be a list of conditions, none of them empty`,
      ]);
    return [{ group, branches }];
  }
  const target = subject?.target;
  const isValue = typeof target === 'object' && target.type === 'OBJECT' && subject?.path.length === 0;
  if (typeof value !== 'object' || value === null || Array.isArray(value) || isValue) {
    // of a field as a query would have it: text as it is, all else as JSON
    const texts = [typeof value === 'string' ? value : JSON.stringify(value)];
    const isPath = subject !== null && subject.path.length > 0;
    return [{ name, operator: 'eq', operand: isPath ? { json: value } : { texts } }];
  }
  const operators = Object.entries(value);
  if (operators.length === 0)
    throw invalidCondition([`Query field: ${shownName(name)} has an object without an operator`]);
  return operators.map(([operator, json]) => ({ name, operator, operand: { json } }));
}

function refusal(): Error {
  return invalidBody(
    'Request body should be a JSON object of conditions, or an array of [field, value] pairs and [field, operator, value] triples',
  );
}
