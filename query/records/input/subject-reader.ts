import { shownName } from '#kernel/errors/shown-name.ts';
import { systemKeys } from '../structure/field.ts';
import type { Structure } from '../structure/structure.ts';
import { typeEntry } from '../types/field-types.ts';
import { type Subject, subjectOf } from './filters/names.ts';

/** Names that are listed; the others are counted. */
const listed = 50;

/** Finds the fields that a request names. The problem of the first unknown name lists the known ones. */
export class SubjectReader {
  readonly #structure: Structure;
  readonly #problems: string[];
  #hasListed = false;

  constructor(structure: Structure, problems: string[]) {
    this.#structure = structure;
    this.#problems = problems;
  }

  /** Null: there is none, which is a problem by now. */
  read(name: string): Subject | null {
    const found = subjectOf(name, this.#structure);
    if (found === null) this.#problems.push(this.#unknown(name));
    return found;
  }

  #unknown(name: string): string {
    const problem = `Query field: ${shownName(name)} is not in the structure`;
    const hint = bracketHint(name, this.#structure);
    if (hint === null && this.#hasListed) return problem;
    const text = hint === null ? `, which has ${namesOf(this.#structure)}` : `: ${hint}`;
    this.#hasListed = true;
    return problem + text;
  }
}

/** Clients write arrays and objects as `tags[]=a` and `home[city]=x`; a condition is one value. */
function bracketHint(key: string, { lookup }: Structure): string | null {
  const bracket = key.indexOf('[');
  const name = key.slice(0, bracket);
  const field = bracket > 0 && key.endsWith(']') ? lookup.get(name) : undefined;
  if (field === undefined) return null;
  const shown = shownName(name);
  const { isJson, valid, inQuery } = typeEntry(field.type);
  if (isJson) return `send ${shown} with the whole ${valid} as JSON text, such as ${inQuery}`;
  return `send ${shown} without brackets`;
}

function namesOf({ fields, ofFile }: Structure): string {
  const shown = fields.filter(({ hidden }) => !hidden);
  const names = shown.slice(0, listed).map(({ name }) => shownName(name));
  const more = shown.length > listed ? [`${shown.length - listed} more`] : [];
  return [...names, ...more, ...(ofFile === true ? [] : systemKeys.map(shownName))].join(', ');
}
