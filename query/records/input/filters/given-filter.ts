import { filterLimits } from './filter.ts';

/**
 * A condition as the request has it, before it is parsed by the structure: from the parameters of a query or from a body.
 */
export type GivenFilter = GivenComparison | GivenGroup | GivenProblem;

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
  readonly branches: readonly (readonly GivenFilter[])[];
}

/** A part that can't be parsed: its problem is listed with the problems of other parts. */
export interface GivenProblem {
  readonly problem: string;
}

export const groupNames: Readonly<Record<string, GivenGroup['group']>> = {
  $or: 'any',
  $and: 'all',
  $not: 'none',
};

/** Conditions that every record meets, and that no record meets: every record has an id, and none is empty. */
export const givenAlways: GivenFilter = { name: 'id', operator: 'exists', operand: { json: true } };
export const givenNever: GivenFilter = { name: 'id', operator: 'eq', operand: { json: '' } };

export const tooDeep: GivenProblem = {
  problem: `The conditions are nested deeper than ${filterLimits.levels} levels`,
};
