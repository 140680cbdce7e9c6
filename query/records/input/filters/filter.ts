import type { Target } from '../../structure/field.ts';
import type { StoredValue, ValueKind } from '../../types/field-type.ts';
import { fieldTypes, otherKinds } from '../../types/field-types.ts';
import type { OperatorName } from './operators.ts';

export const filterLimits = {
  comparisons: 100,
  levels: 5,
  listInQuery: 100,
  listInBody: 10_000,
  inLists: 20_000,
} as const;

/** Parsed conditions: a tree of comparisons (docs/api.md, "Filters"). */
export type Filter = Comparison | FilterGroup;

export interface FilterGroup {
  /** `any` or `all` of the branches, or `none`, which a record without the values also meets. */
  readonly group: 'any' | 'all' | 'none';
  readonly branches: readonly Filter[];
}

/** A record without the value meets no operator but `exists`. */
export interface Comparison {
  readonly target: Target;
  /** Keys within an OBJECT; empty: the field itself. */
  readonly path: readonly string[];
  readonly operator: OperatorName;
  /** One value, or the values of a list. Elements of arrays, and values at a path, are JSON texts. */
  readonly values: readonly (StoredValue | Date)[];
}

export function kindOfValue({ target, path }: Pick<Comparison, 'target' | 'path'>): ValueKind {
  if (path.length > 0) return otherKinds.path;
  if (typeof target !== 'string') return fieldTypes[target.type];
  return target === 'id' ? otherKinds.id : otherKinds.time;
}
