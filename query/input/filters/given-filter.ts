import { invalidCondition } from '../../../common/errors/catalogue.ts';
import { filterLimits } from './filter.ts';

/**
 * Conditions as a request gives them, before anybody knows the structure: from the parameters of a query or from a body.
 */
export type Given = GivenComparison | GivenGroup;

export interface GivenComparison {
  readonly name: string;
  readonly operator: string;
  readonly operand: GivenOperand;
}

/** Texts of a query, or the parsed JSON of a body. */
export type GivenOperand = { readonly texts: string[] } | { readonly json: unknown };

export interface GivenGroup {
  readonly group: 'any' | 'all' | 'none';
  /** All items of a branch have to be met. */
  readonly branches: readonly (readonly Given[])[];
}

export const groupNames: Readonly<Record<string, GivenGroup['group']>> = {
  $or: 'any',
  $and: 'all',
  $not: 'none',
};

/** Throws a 400 where groups are nested too deep. */
export function checkLevel(level: number): void {
  if (level <= filterLimits.levels) return;
  throw invalidCondition([`The conditions are nested deeper than ${filterLimits.levels} levels`]);
}
