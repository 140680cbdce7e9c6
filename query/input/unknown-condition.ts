import { shownName } from '../../common/errors/shown-name.ts';
import { systemKeys } from '../structure/field.ts';
import type { Structure } from '../structure/structure.ts';

/** Names that are listed; the others are counted. */
const listed = 50;

/** The problem of a condition on an unknown field, with a suggestion. @param first lists the fields that there are */
export function unknownCondition(key: string, structure: Structure, first: boolean): string {
  const problem = `Query field: ${shownName(key)} is not in the structure`;
  const hint = bracketHint(key, structure);
  if (hint !== null) return `${problem}: ${hint}`;
  return first ? `${problem}, which has ${namesOf(structure)}` : problem;
}

/** Clients write arrays and objects as `tags[]=a` and `home[city]=x`; a condition is one value. */
function bracketHint(key: string, { lookup }: Structure): string | null {
  const bracket = key.indexOf('[');
  const name = key.slice(0, bracket);
  const field = bracket > 0 && key.endsWith(']') ? lookup.get(name) : undefined;
  if (field === undefined) return null;
  const shown = shownName(name);
  if (field.type === 'ARRAY') return `send ${shown} with the whole array as JSON text, such as ["a","b"]`;
  if (field.type === 'OBJECT') return `send ${shown} with the whole object as JSON text, such as {"a":1}`;
  return `send ${shown} without brackets`;
}

function namesOf({ fields }: Structure): string {
  const names = fields.slice(0, listed).map(({ name }) => shownName(name));
  const more = fields.length > listed ? [`${fields.length - listed} more`] : [];
  return [...names, ...more, ...systemKeys.map(shownName)].join(', ');
}
