import { shownName } from '../../../common/errors/shown-name.ts';
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

/** Conditions where each on something else than these values is a problem. */
export function onlyOfValues(given: readonly Given[], { fields, lookup }: Structure): readonly Given[] {
  const known = fields.map(({ name }) => shownName(name)).join(', ') || 'none';
  const checked = (one: Given): Given => {
    if ('group' in one) return { ...one, branches: one.branches.map((items) => items.map(checked)) };
    if ('problem' in one || lookup.has(one.name)) return one;
    return {
      problem: `having: ${shownName(one.name)} is not among the values that are numbers or texts: ${known}`,
    };
  };
  return given.map(checked);
}
