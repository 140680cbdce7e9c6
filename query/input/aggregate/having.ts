import type { Field, FieldType } from '../../structure/field.ts';
import type { Structure } from '../../structure/structure.ts';
import { kindOfValue } from '../filters/filter.ts';
import type { Given } from '../filters/given-filter.ts';
import type { Value } from './aggregate-plan.ts';
import { functions } from './functions.ts';

/** The values of an aggregation as if they were fields, so that conditions name and compare them; times are not. */
export function comparedValues(values: readonly Value[], structure: Structure): Structure {
  const fields = values.flatMap((value): Field[] => {
    const type = typeOf(value);
    if (type === null) return [];
    const { name, column: slot } = value;
    return [
      {
        ...{ name, slug: name, type, slot },
        ...{ required: false, unique: false, hashed: false, keyed: false },
        ...{ description: '', comment: '', defaultValue: null },
      },
    ];
  });
  return { ...structure, fields, lookup: new Map(fields.map((field) => [field.name, field])) };
}

function typeOf({ of }: Value): FieldType | null {
  if (of === null || functions[of.name]?.result === 'number') return 'NUMBER';
  const kind = kindOfValue(of);
  if (kind === 'id' || kind === 'TEXT') return 'TEXT';
  return kind === 'NUMBER' ? 'NUMBER' : null;
}

/** The names that conditions use. */
export function namesIn(given: readonly Given[]): readonly string[] {
  return [...new Set(given.flatMap((one) => ('group' in one ? one.branches.flatMap(namesIn) : [one.name])))];
}
