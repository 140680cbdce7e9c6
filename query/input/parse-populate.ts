import { invalidOptions } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import { longestName } from '#kernel/ids/slug.ts';
import type { Complain } from '#records/input/given-fields.ts';
import { unparsedOptions } from '#records/input/parse-options.ts';
import { isSystemKey, type Target } from '#records/structure/field.ts';
import type { RecordParts } from '#records/structure/record-parts.ts';
import type { Structure } from '#records/structure/structure.ts';
import { asObject } from '#records/types/is-object.ts';
import type { HttpRequest } from '#server/http/http-types.ts';

/** One entry of `populate`: adds to every record, as `newField`, the record of another space that its local key names. */
export interface Population {
  /** Slug or name. */
  readonly space: string;
  /** As written in the request: only the structure of the other space knows the field. */
  readonly foreignKey: string;
  readonly localKey: Target;
  readonly newField: string;
}

export const maxPopulations = 10;

/**
 * Reads `populate` of the options: `[{space, fields: {from, foreignKey, localKey, newField}}]`, as the published client
 * writes it. `from` names the space if `space` is missing. Throws a 400 that lists every problem.
 * @param select the values that the records are answered with; null: all
 */
export function parsePopulate(
  request: Pick<HttpRequest, 'header'>,
  structure: Structure,
  select: RecordParts | null = null,
): readonly Population[] {
  const input = unparsedOptions(request.header('options')).populate ?? [];
  if (!Array.isArray(input)) throw invalidOptions(['Options: populate should be an array']);
  if (input.length > maxPopulations) {
    throw invalidOptions([
      `Options: populate has ${input.length} entries; at most ${maxPopulations} are allowed`,
    ]);
  }
  const problems: string[] = [];
  const populations = (input as readonly unknown[]).flatMap((item, index) => {
    const complain: Complain = (problem) => void problems.push(`Options: populate[${index}]${problem}`);
    const population = readPopulation(item, structure, complain);
    if (population !== null && select !== null && !shows(select, population.localKey))
      complain('.fields.localKey names a field that select leaves out');
    return population ?? [];
  });
  if (problems.length > 0) throw invalidOptions(problems);
  return populations;
}

function shows({ parts }: RecordParts, key: Target): boolean {
  return parts.some(({ target, path }) => target === key && path.length === 0);
}

function readPopulation(input: unknown, structure: Structure, complain: Complain): Population | null {
  const { space, fields } = asObject(input);
  const { from, foreignKey, localKey, newField } = asObject(fields);
  const names = {
    space: space ?? from,
    'fields.foreignKey': foreignKey,
    'fields.localKey': localKey,
    'fields.newField': newField,
  };
  let named = true;
  for (const [key, value] of Object.entries(names)) {
    if (typeof value === 'string' && value !== '' && value.length <= longestName) continue;
    complain(`.${key} should be a name`);
    named = false;
  }
  if (!named) return null;
  if (isSystemKey(newField as string) || newField === '__proto__') {
    complain(`.fields.newField is ${shownName(newField as string)}, which is reserved`);
  }
  const target = readLocalKey(localKey as string, structure, complain);
  if (target === null) return null;
  return {
    space: names.space as string,
    foreignKey: foreignKey as string,
    localKey: target,
    newField: newField as string,
  };
}

function readLocalKey(name: string, structure: Structure, complain: Complain): Target | null {
  if (name === 'id') return name;
  const field = structure.lookup.get(name);
  if (field === undefined)
    complain(`.fields.localKey names ${shownName(name)}, which is not a field of the structure`);
  else if (field.hashed) complain(`.fields.localKey names ${shownName(name)}, which is hashed`);
  else return field;
  return null;
}
