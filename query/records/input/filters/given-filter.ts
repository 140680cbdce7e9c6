import { filterLimits } from './filter.ts';

/**
 * Conditions as a request gives them, before anybody knows the structure: from the parameters of a query or from a body.
 */
export type Given = GivenComparison | GivenGroup | GivenProblem;

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

/** A part that can't be read: its problem is listed beside those of the others. */
export interface GivenProblem {
  readonly problem: string;
}

export const groupNames: Readonly<Record<string, GivenGroup['group']>> = {
  $or: 'any',
  $and: 'all',
  $not: 'none',
};

/** Met by every record, and by none: all have an id, and none an empty one. */
export const givenAlways: Given = { name: 'id', operator: 'exists', operand: { json: true } };
export const givenNever: Given = { name: 'id', operator: 'eq', operand: { json: '' } };

export const tooDeep: GivenProblem = {
  problem: `The conditions are nested deeper than ${filterLimits.levels} levels`,
};
